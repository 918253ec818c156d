import AccelByteIO
import AccelTensors
public import AccelWeightCompression

/// A model's functions after the passes, with the tensors of their constants: the content of a package.
///
/// It holds no memory or kernel decisions: those belong to the execution plan, which is made when the graph is to run.
public struct ModelGraph: Sendable {
    /// The functions. Each constant names one of `tensors`, with equal type and shape, and each tensor is read.
    public var functions: [FrozenProgram]
    /// The weights, sorted by name, then the tables in the order of first use. Names are unique.
    public var tensors: [CompressedTensor]

    /// Creates a graph. Nothing is checked.
    public init(functions: [FrozenProgram], tensors: [CompressedTensor]) {
        self.functions = functions
        self.tensors = tensors
    }

    /// The graph as a compressed program, for exporters: its weights keep their encodings, its tables are among the
    /// constants.
    public var compressed: CompressedProgram {
        let names = weightNames
        return CompressedProgram(
            functions: functions,
            weights: tensors.filter { names.contains($0.name) }.map {
                CompressedWeight(tensor: $0, distortion: Distortion(), readers: [])
            })
    }

    /// The names of the constants that are weights of the checkpoint; the others are tables.
    public var weightNames: Set<String> {
        Set(functions.flatMap { $0.program.constants.filter(\.isWeight).map(\.name) })
    }
}

extension CompressedProgram {
    /// Runs the passes, and gives each table a name that is unique among all functions.
    public func graph() throws -> ModelGraph {
        var tensors = GraphTensors(weights.map(\.tensor))
        let functions = try self.functions.map { function in
            try function.optimized().renamingConstants { try tensors.name(of: $0) }
        }
        let read = Set(functions.flatMap { $0.program.constants.map(\.name) })
        return ModelGraph(functions: functions, tensors: tensors.tensors.filter { read.contains($0.name) })
    }
}

/// The tensors of a graph while its functions are gathered: the weights, then the tables of the functions. Equal tables
/// are stored once.
private struct GraphTensors {
    private(set) var tensors: [CompressedTensor]
    private let weightCount: Int
    private var indexByName: [String: Int]

    init(_ tensors: [CompressedTensor]) {
        self.tensors = tensors
        weightCount = tensors.count
        indexByName = Dictionary(uniqueKeysWithValues: tensors.enumerated().map { ($1.name, $0) })
    }

    mutating func name(of constant: Program.Constant) throws -> String {
        if constant.isWeight, indexByName[constant.name] != nil { return constant.name }
        let source = try constant.requireTensor()
        var name = source.name
        var number = 1
        while let index = indexByName[name] {
            let isTable = index >= weightCount
            if isTable, tensors[index].shape == source.shape, tensors[index].sections == [source.bytes] { return name }
            number += 1
            name = "\(source.name)#\(number)"
        }
        let tensor = try CompressedTensor(
            name: name, elementType: source.elementType, shape: source.shape, codec: try Codecs.codec("stored"),
            sections: [source.bytes], file: source.file)
        indexByName[name] = tensors.count
        tensors.append(tensor)
        return name
    }
}

extension FrozenProgram {
    fileprivate func renamingConstants(_ name: (Program.Constant) throws -> String) rethrows -> FrozenProgram {
        let constants = try program.constants.map { constant in
            let name = try name(constant)
            return Program.Constant(
                name: name, elementType: constant.elementType, shape: constant.shape, isWeight: constant.isWeight,
                value: constant.value, tensor: constant.tensor?.renamed(name))
        }
        return FrozenProgram(frozen: program.with(constants: constants), bindings: bindings, remarks: remarks)
    }
}
