public import AccelTensors

/// A point in a program where channels can be rescaled without a change of its results: only weights produce the
/// channels, only columns of weights read them, and the operators in between keep them apart. The producers are divided
/// by the factors that the readers are multiplied by.
public struct ScalingSite: Hashable, Sendable {
    /// The number of channels.
    public let channels: Int
    /// Weights with one row, or vectors with one element, per channel: the gain and bias of a normalisation, or the
    /// weight and bias of a linear operator.
    public let producers: [String]
    /// Weights with one column per channel, all multiplied with the same vectors; sorted.
    public let readers: [String]
    /// The producers that are vectors.
    let vectors: Set<String>

    /// Returns the scaling of each weight of the site.
    /// - Parameter exponents: a power of two for each channel, applied to the readers' columns.
    public func scalings(_ exponents: [Int]) -> [String: ChannelScaling] {
        let inverse = exponents.map { -$0 }
        let made = producers.map {
            ($0, vectors.contains($0) ? ChannelScaling(columns: inverse) : ChannelScaling(rows: inverse))
        }
        let read = readers.map { ($0, ChannelScaling(columns: exponents)) }
        return Dictionary(made + read) { first, _ in first }
    }
}

extension [Program] {
    /// The sites that are valid in every program that reads their weights, in the order of the programs.
    public var scalingSites: [ScalingSite] {
        let finders = map(SiteFinder.init)
        let found = finders.map(\.sites)
        var sites: [ScalingSite] = []
        for site in found.joined() where !sites.contains(site) {
            let names = site.readers + site.producers
            let isShared = zip(finders, found).allSatisfy { finder, found in
                found.contains(site) || names.allSatisfy { !finder.names.contains($0) }
            }
            if isShared { sites.append(site) }
        }
        return sites
    }
}

/// Finds the scaling sites of one program.
private struct SiteFinder {
    private let program: Program
    private let weights: [Value: String]
    /// Tables of zeros; a normalisation without a bias may have one instead.
    private let zeros: Set<Value>
    private let readers: [Value: [Program.Node]]
    /// The values of outputs and of states for the next run.
    private let kept: Set<Value>

    init(_ program: Program) {
        self.program = program
        weights = Dictionary(
            uniqueKeysWithValues: program.constants.filter(\.isWeight).map { ($0.value, $0.name) })
        zeros = Set(
            program.constants.filter {
                !$0.isWeight && $0.shape.rank == 1 && $0.tensor?.floats().allSatisfy { $0 == 0 } == true
            }.map(\.value))
        readers = program.nodes.reduce(into: [:]) { readers, node in
            for value in Set(node.inputs) { readers[value, default: []].append(node) }
        }
        kept = Set(program.outputs.map(\.value) + program.states.map(\.next))
    }

    /// The names of the weights.
    var names: Set<String> { Set(weights.values) }

    var sites: [ScalingSite] {
        program.nodes.compactMap { node in
            guard let output = node.outputs.first, let producers = producers(node),
                let readers = readers(of: output), let channels = program.type(of: output).dimensions.last?.value,
                Set(producers.map(\.name)).isDisjoint(with: readers)
            else { return nil }
            return ScalingSite(
                channels: channels, producers: producers.map(\.name), readers: readers.sorted(),
                vectors: Set(producers.filter(\.isVector).map(\.name)))
        }
    }

    /// Returns the weights to which the output channels of a node are proportional; nil if there are none, or if
    /// another node reads them too.
    private func producers(_ node: Program.Node) -> [(name: String, isVector: Bool)]? {
        switch node.operation {
        case is LayerNorm, is RMSNorm: break
        case let linear as Linear where linear.activation == .none: break
        default: return nil
        }
        let operands = node.inputs.dropFirst().filter { !zeros.contains($0) }
        let producers = operands.compactMap { value in
            ownWeight(value).map { (name: $0, isVector: program.type(of: value).rank < 2) }
        }
        return producers.count == operands.count && !producers.isEmpty ? producers : nil
    }

    /// Returns the name of a weight that exactly one node reads, once.
    private func ownWeight(_ value: Value) -> String? {
        guard let name = weights[value], !kept.contains(value), let nodes = readers[value], nodes.count == 1,
            nodes[0].inputs.count(where: { $0 == value }) == 1
        else { return nil }
        return name
    }

    /// Returns the weights whose columns read the last axis of a value, also behind operators that keep channels apart;
    /// nil if anything else reads it.
    private func readers(of output: Value) -> [String]? {
        var value = output
        // The axes that the channels are spread over, row-major.
        var axes = [program.type(of: value).rank - 1]
        while !kept.contains(value), let nodes = readers[value] {
            if nodes.allSatisfy({ $0.operation is Linear && $0.inputs[0] == value }) {
                let names = nodes.compactMap { ownWeight($0.inputs[1]) }
                guard axes == [program.type(of: value).rank - 1], Set(names).count == nodes.count else { return nil }
                return names
            }
            guard nodes.count == 1, let next = nodes[0].outputs.first,
                let moved = self.axes(after: nodes[0], of: value, axes)
            else { return nil }
            (value, axes) = (next, moved)
        }
        return nil
    }

    /// Returns the axes of the channels of `value` in the output of a node; nil if the node does not keep channels
    /// apart.
    private func axes(after node: Program.Node, of value: Value, _ axes: [Int]) -> [Int]? {
        guard node.inputs.count(where: { $0 == value }) == 1, let output = node.outputs.first else { return nil }
        let (before, after) = (program.type(of: value).dimensions, program.type(of: output).dimensions)
        switch node.operation {
        case is Multiply:
            return before == after ? axes : nil
        case let transpose as Transpose:
            return axes.compactMap { transpose.permutation.firstIndex(of: $0) }
        case is Reshape:
            // Trailing axes are split or joined; the axes before them stay.
            guard let first = axes.first, axes == Array(first..<before.count), first < after.count,
                before[..<first] == after[..<first]
            else { return nil }
            return Array(first..<after.count)
        case is Attention:
            // Each query gets a weighted mean of the values of its head, channel by channel.
            let isOfValues = node.inputs.count > 2 && node.inputs[2] == value && axes == [1, 3]
            return isOfValues && before[1] == after[1] ? axes : nil
        default:
            return nil
        }
    }
}
