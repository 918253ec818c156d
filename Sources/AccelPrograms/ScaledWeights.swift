public import AccelTensors

/// Weights of a model's parts with channels scaled at sites, so that the parts give the same as before.
public struct ScaledWeights: Sendable {
    /// Why a weight with method=awq is not scaled, as a package says it.
    public enum Obstacle: String, Sendable, CaseIterable {
        case noSite = "method=awq needs inputs whose channels a weight makes and nothing else reads"
        case nothingGained = "method=awq would bring what it gives no nearer to what it should"
    }

    public private(set) var scalings: [String: ChannelScaling] = [:]
    /// The same weights as they are then.
    public private(set) var tensors: [String: StoredTensor] = [:]
    /// As they were.
    private let sources: [String: StoredTensor]
    public let sites: [ScalingSite]

    public init(of parts: [Program]) {
        let weights = parts.flatMap { $0.constants.filter(\.isWeight).compactMap(\.tensor) }
        sources = Dictionary(weights.map { ($0.name, $0) }) { first, _ in first }
        sites = parts.scalingSites
    }

    /// Scales the channels of a site: the readers' columns take these exponents, what makes the channels their opposites.
    /// - Returns: false where that would not be exact; nothing is changed then.
    public mutating func scale(_ site: ScalingSite, by exponents: [Int]) -> Bool {
        var made: [(name: String, scaling: ChannelScaling, tensor: StoredTensor)] = []
        for (name, own) in site.scalings(exponents) {
            // A weight may make the channels of one site and read those of another.
            var scaling = scalings[name] ?? ChannelScaling()
            if !own.rows.isEmpty { scaling.rows = own.rows }
            if !own.columns.isEmpty { scaling.columns = own.columns }
            guard let tensor = sources[name]?.scaled(by: scaling) else { return false }
            made.append((name, scaling, tensor))
        }
        for (name, scaling, tensor) in made { (scalings[name], tensors[name]) = (scaling, tensor) }
        return true
    }

    /// The weights of `parts`, scaled as is said of them.
    /// - Returns: nil where the parts would then not give the same as before.
    public init?(of parts: [Program], scaled recorded: [String: ChannelScaling]) {
        self.init(of: parts)
        for site in sites {
            guard let exponents = site.readers.first.flatMap({ recorded[$0] })?.columns, !exponents.isEmpty else {
                continue
            }
            guard exponents.count == site.channels, scale(site, by: exponents) else { return nil }
        }
        guard scalings == recorded else { return nil }
    }
}

extension Program {
    /// The same program with other tensors for some of its weights, by name, of the same shapes.
    public func replacing(_ tensors: [String: StoredTensor]) -> Program {
        with(
            constants: constants.map { constant in
                guard constant.isWeight, let tensor = tensors[constant.name] else { return constant }
                return Constant(tensor, isWeight: true, value: constant.value)
            })
    }
}

extension Program {
    /// The same program with tensors for its constants, by name, of the same shapes. Values that the program computes with
    /// stay of the types that they are.
    public func holding(_ tensors: [String: StoredTensor]) -> Program {
        with(
            constants: constants.map { constant in
                guard let tensor = tensors[constant.name] else { return constant }
                return Constant(tensor, isWeight: constant.isWeight, value: constant.value)
            })
    }
}
