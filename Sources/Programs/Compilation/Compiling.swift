import ByteIO
import Tensors
import WeightCompression

extension CompressedProgram {
    /// Runs the passes, decides where every value lies, and orders the kernel calls.
    public func compiled() throws -> CompiledProgram {
        var table = WeightTable(weights.map(\.tensor))
        let functions = try self.functions.map { function in
            var compiler = FunctionCompiler(try function.optimized())
            return try compiler.compiled(with: &table)
        }
        return CompiledProgram(functions: functions, weights: table.tensors)
    }
}

/// The weights of a compiled program: the compressed ones, and the tables that functions bring along, equal ones once.
struct WeightTable {
    private(set) var tensors: [CompressedTensor]
    private var indexByName: [String: Int]

    init(_ tensors: [CompressedTensor]) {
        self.tensors = tensors
        indexByName = Dictionary(uniqueKeysWithValues: tensors.enumerated().map { ($1.name, $0) })
    }

    mutating func index(of constant: Program.Constant) throws -> Int {
        let source = constant.tensor
        if constant.isWeight, let index = indexByName[source.name] { return index }
        var name = source.name
        var number = 1
        while let index = indexByName[name] {
            if tensors[index].shape == source.shape, tensors[index].sections == [source.bytes] { return index }
            number += 1
            name = "\(source.name)#\(number)"
        }
        let tensor = try CompressedTensor(
            name: name, elementType: source.elementType, shape: source.shape, codec: try Codecs.codec("stored"),
            sections: [source.bytes], file: source.file)
        indexByName[name] = tensors.count
        tensors.append(tensor)
        return tensors.count - 1
    }
}
