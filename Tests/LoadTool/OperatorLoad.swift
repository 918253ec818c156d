import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A function of one operator on large inputs: of many short rows, or of one long row.
struct OperatorLoad {
    let name: String
    let program: ModelPlan
    let inputs: [String: StoredTensor]
    /// Elements of the largest input or output.
    let elements: Int
    /// Multiply-adds of a product; 0 for any other operator.
    let multiplyAdds: Int

    /// - Parameters:
    ///   - shapes: of the inputs. Integers are indices below `limit`.
    ///   - weights: the inputs from this index on are weights, encoded with `codec`.
    init(
        _ note: String, _ operation: any Operator, _ shapes: [Operand], weights: Int = .max, codec: String = "float32"
    ) throws {
        name = "\(operation.name), \(note)"
        var (builder, inputs) = (ProgramBuilder(name: "load"), [String: StoredTensor]())
        var values = try shapes.enumerated().map { index, operand in
            let tensor = try operand.tensor(name: "x\(index)")
            if index >= weights { return builder.constant(tensor, isWeight: true) }
            inputs["x\(index)"] = tensor
            return builder.input("x\(index)", TensorType(tensor.elementType, shape: tensor.shape))
        }
        // Rows of codes are made of their numbers first.
        if operation is WidenRows { values = [try builder.apply(RoundRows(), values)] }
        for (index, result) in try builder.applyAll(operation, values).enumerated() {
            let isRows = builder.type(of: result).elementType == .int8
            builder.output("y\(index)", isRows ? try builder.apply(WidenRows(), [result]) : result)
        }
        let frozen = try builder.finish().freezing(ShapeBindings())
        program = try Recipe(default: Codecs.codec(codec)).compressing([frozen], threads: 2).planned()
        self.inputs = inputs
        elements = max(
            shapes.map(\.shape.count).max() ?? 0, program.functions[0].outputs.map(\.operand.shape.count).max() ?? 0)
        multiplyAdds = operation.multiplyAdds(shapes.map(\.shape))
    }

    /// An input: its type and shape.
    struct Operand {
        let elementType: ElementType
        let shape: Shape
        let limit: Int64

        static func floats(_ sizes: Int...) -> Operand { Operand(elementType: .float32, shape: Shape(sizes), limit: 0) }
        static func flags(_ sizes: Int...) -> Operand { Operand(elementType: .bool, shape: Shape(sizes), limit: 0) }
        static func integers(below limit: Int64, _ sizes: Int...) -> Operand {
            Operand(elementType: .int64, shape: Shape(sizes), limit: limit)
        }

        /// Numbers from 0.5 to 1.5 that no operator rejects, a few of them over and over.
        func tensor(name: String) throws -> StoredTensor {
            let start: [UInt8] =
                switch elementType {
                case .float32: Self.bytes((0..<997).map { 0.5 + Float($0 % 89) / 89 })
                case .int64: Self.bytes((0..<997).map { Int64($0) * 7919 % limit })
                default: (0..<997).map { UInt8($0 % 2) }
                }
            let buffer = try ByteBuffer(allocating: shape.count * elementType.byteCount, for: name)
            let bytes = buffer.bytes
            var filled = min(start.count, bytes.count)
            bytes.copyBytes(from: start.prefix(filled))
            while filled < bytes.count {
                let more = min(filled, bytes.count - filled)
                UnsafeMutableRawBufferPointer(rebasing: bytes[filled..<filled + more])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<more]))
                filled += more
            }
            return StoredTensor(name: name, elementType: elementType, shape: shape, bytes: ByteView(buffer))
        }

        private static func bytes<Element: BitwiseCopyable>(_ elements: [Element]) -> [UInt8] {
            elements.withUnsafeBytes { Array($0) }
        }
    }
}
