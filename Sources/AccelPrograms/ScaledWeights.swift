public import AccelTensors

/// Weights of a model's parts, rescaled at scaling sites without a change of the parts' results (AWQ; Lin et al.,
/// 2023).
public struct ScaledWeights: Sendable {
    /// Why `method=awq` did not rescale a weight, in the words that packages store.
    public enum Obstacle: String, Sendable, CaseIterable {
        /// The weight reads no scaling site.
        case noSite = "method=awq needs inputs whose channels a weight makes and nothing else reads"
        /// No scaling reduces the error of the outputs.
        case nothingGained =
            "method=awq, which scales by powers of two, would bring what it gives no nearer to what it should"
    }

    /// The scaling of each rescaled weight, by name.
    public private(set) var scalings: [String: ChannelScaling] = [:]
    /// The rescaled weights, by name.
    public private(set) var tensors: [String: StoredTensor] = [:]
    /// The original weights, by name.
    private let sources: [String: StoredTensor]
    /// The scaling sites of all parts.
    public let sites: [ScalingSite]

    /// Finds the scaling sites of `parts`; nothing is rescaled yet.
    public init(of parts: [Program]) {
        let weights = parts.flatMap { $0.constants.filter(\.isWeight).compactMap(\.tensor) }
        sources = Dictionary(weights.map { ($0.name, $0) }) { first, _ in first }
        sites = parts.scalingSites
    }

    /// Rescales the channels of a site: the readers' columns by these powers of two, the producers by their inverses.
    /// - Returns: False if a weight cannot be scaled exactly; nothing is changed then.
    public mutating func scale(_ site: ScalingSite, by exponents: [Int]) -> Bool {
        var made: [(name: String, scaling: ChannelScaling, tensor: StoredTensor)] = []
        for (name, own) in site.scalings(exponents) {
            // A weight may produce the channels of one site and read those of another.
            var scaling = scalings[name] ?? ChannelScaling()
            if !own.rows.isEmpty { scaling.rows = own.rows }
            if !own.columns.isEmpty { scaling.columns = own.columns }
            guard let tensor = sources[name]?.scaled(by: scaling) else { return false }
            made.append((name, scaling, tensor))
        }
        for (name, scaling, tensor) in made { (scalings[name], tensors[name]) = (scaling, tensor) }
        return true
    }

    /// Rescales the weights of `parts` as a package recorded it.
    /// - Returns: Nil if the recorded scalings would change the results of the parts.
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
    /// Returns the program with some weights replaced, by name, by tensors of the same shapes.
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
