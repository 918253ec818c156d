import AccelPrograms
import AccelTensors

/// Finds the nodes that compute with positions: numbers made of integers and tables alone, which a sine, a comparison or an
/// index reads. Float16 cannot distinguish the positions of a long sequence, so these nodes always compute in float32.
enum PositionArithmetic {
    /// - Returns: the labels of the nodes.
    static func nodes(of program: Program) -> Set<String> {
        var counted = Set(program.constants.filter { !$0.isWeight }.map(\.value))
        func isCounted(_ value: Value) -> Bool {
            counted.contains(value) || !program.type(of: value).elementType.isFloatingPoint
        }
        var exact: [Program.Node] = []
        for node in program.nodes where node.inputs.allSatisfy(isCounted) {
            counted.formUnion(node.outputs)
            exact.append(node)
        }
        var labels: Set<String> = []
        var needed: Set<Value> = []
        for node in exact.reversed() where reads(node, program) || node.outputs.contains(where: needed.contains) {
            labels.insert(node.label)
            needed.formUnion(node.inputs)
        }
        return labels
    }

    /// Returns whether small differences of a node's inputs matter for its outputs.
    private static func reads(_ node: Program.Node, _ program: Program) -> Bool {
        if node.operation is Cast { return node.outputs.contains { program.type(of: $0).elementType == .int64 } }
        return sensitive.contains(node.operation.name)
    }

    private static let sensitive: Set = [
        Sin.name, Cos.name, Compare.name, Floor.name, Modulo.name, CumulativeSum.name, ArgMax.name,
    ]
}
