import ByteIO
import Tensors
import WeightCompression

/// Finds the program behind a compiled function: the way back from memory to values, for those who write a package in
/// another format.
struct FunctionLifting {
    /// What was last written to a piece of memory, and how it lies there.
    private struct Content {
        let value: Value
        let layout: StridedLayout
    }

    private let function: CompiledFunction
    private var builder: ProgramBuilder
    private var memory: [Operand.Storage: Content] = [:]
    private let constants: [StoredTensor]
    private let isWeight: (String) -> Bool

    /// - Parameter constants: what stands for each weight of the program.
    init(_ function: CompiledFunction, constants: [StoredTensor], isWeight: @escaping (String) -> Bool) {
        self.function = function
        self.constants = constants
        self.isWeight = isWeight
        builder = ProgramBuilder(name: function.part, dimensions: [], interface: function.interface)
    }

    /// - Throws: `ShapeError` naming the call whose operands no values can have.
    consuming func lifted() throws -> FrozenProgram {
        for (index, port) in function.inputs.enumerated() {
            let value = builder.input(port.name, TensorType(port.elementType, shape: port.shape))
            memory[.input(index)] = Content(value: value, layout: StridedLayout(shape: port.shape))
        }
        for (index, port) in function.states.enumerated() {
            let value = builder.state(port.name, TensorType(port.elementType, shape: port.shape), initial: port.initial)
            memory[.state(index)] = Content(value: value, layout: StridedLayout(shape: port.shape))
        }
        for call in function.calls {
            let inputs = try call.inputs.map { try value(of: $0, call.label) }
            let results = try builder.labelled(call.label) { try $0.applyAll(call.operation, inputs) }
            for (operand, result) in zip(call.outputs, results) {
                // A state may be written through another look at it, of the same elements.
                var (written, layout) = (result, operand.layout)
                if case .state(let index) = operand.storage {
                    layout = StridedLayout(shape: function.states[index].shape)
                    guard operand.layout.isContiguous, operand.shape.count == layout.shape.count else {
                        throw unreadable(operand, call.label)
                    }
                    if operand.shape != layout.shape { written = try reshaped(result, layout.shape.dimensions) }
                }
                memory[operand.storage] = Content(value: written, layout: layout)
            }
        }
        for output in function.outputs { builder.output(output.name, try value(of: output.operand, output.name)) }
        for (index, port) in function.states.enumerated() {
            if let content = memory[.state(index)] { builder.update(port.name, to: content.value) }
        }
        return try FrozenProgram(try builder.finish(), bindings: function.bindings)
    }

    private mutating func value(of operand: Operand, _ label: String) throws -> Value {
        if case .weight(let index) = operand.storage, constants.indices.contains(index) {
            let tensor = constants[index]
            let value = builder.constant(tensor, isWeight: isWeight(tensor.name))
            return try seen(Content(value: value, layout: StridedLayout(shape: tensor.shape)), as: operand, label)
        }
        guard let content = memory[operand.storage] else { throw unreadable(operand, label) }
        return try seen(content, as: operand, label)
    }

    /// The view `operand` of what lies in its memory.
    private mutating func seen(_ content: Content, as operand: Operand, _ label: String) throws -> Value {
        if content.layout == operand.layout { return content.value }
        let value = try builder.labelled("\(label).view") { try Self.inOrderOfMemory(content, &$0) }
        guard let found = try view(of: value, operand.layout, label) else { throw unreadable(operand, label) }
        return found
    }

    /// The value with its axes in the order in which they lie in memory.
    private static func inOrderOfMemory(_ content: Content, _ builder: inout ProgramBuilder) throws -> Value {
        let strides = content.layout.strides
        let order = strides.indices.sorted { (strides[$1], $0) < (strides[$0], $1) }
        return order == Array(strides.indices)
            ? content.value : try builder.apply(Transpose(order), [content.value])
    }

    /// A view of contiguous memory: it is cut into one axis a stride, a box is taken out, its axes are turned, and those
    /// without a stride repeat it. Nil for strides that do not divide each other.
    private mutating func view(of value: Value, _ layout: StridedLayout, _ label: String) throws -> Value? {
        let count = (builder.type(of: value).shape ?? []).count
        let extents = layout.shape.dimensions
        let axes = extents.indices.filter { extents[$0] != 1 && layout.strides[$0] > 0 }
            .sorted { (layout.strides[$1], $0) < (layout.strides[$0], $1) }
        var (levels, begins, sizes) = ([Int](), [Int](), [Int]())
        var (block, rest) = (count, layout.offset)
        for axis in axes {
            let stride = layout.strides[axis]
            guard block % stride == 0 else { return nil }
            levels.append(block / stride)
            begins.append(rest / stride)
            sizes.append(extents[axis])
            (block, rest) = (stride, rest % stride)
        }
        if block > 1 {
            levels.append(block)
            begins.append(rest)
            sizes.append(1)
        }
        guard zip(levels, zip(begins, sizes)).allSatisfy({ $1.0 + $1.1 <= $0 }) else { return nil }
        return try builder.labelled("\(label).view") { builder in
            var result = try Self.reshaped(value, levels, &builder)
            if sizes != levels {
                let box = Slice(begin: begins.map(Dimension.fixed), sizes: sizes.map(Dimension.fixed))
                result = try builder.apply(box, [result])
            }
            result = try Self.reshaped(result, axes.map { extents[$0] }, &builder)
            let order = axes.indices.sorted { axes[$0] < axes[$1] }
            if order != Array(axes.indices) { result = try builder.apply(Transpose(order), [result]) }
            let once = extents.indices.map { axes.contains($0) ? extents[$0] : 1 }
            result = try Self.reshaped(result, once, &builder)
            return once == extents ? result : try builder.apply(Expand(to: extents.map(Dimension.fixed)), [result])
        }
    }

    private mutating func reshaped(_ value: Value, _ extents: [Int]) throws -> Value {
        try Self.reshaped(value, extents, &builder)
    }

    private static func reshaped(_ value: Value, _ extents: [Int], _ builder: inout ProgramBuilder) throws -> Value {
        if builder.type(of: value).shape?.dimensions == extents { return value }
        return try builder.apply(Reshape(to: extents.map(Dimension.fixed)), [value])
    }

    private func unreadable(_ operand: Operand, _ label: String) -> ShapeError {
        ShapeError(
            operator: "\"\(label)\"",
            reason: "no value is seen as \(operand.shape) with strides \(operand.layout.strides)")
    }
}

extension CompressedProgram {
    /// The program behind a compiled one. Its weights are the stored ones; in the functions, extents alone stand for them.
    /// - Parameter isWeight: tells a weight from a table that the tool made, by its name.
    /// - Throws: `ShapeError` naming the call whose operands no values can have.
    public init(lifting compiled: CompiledProgram, isWeight: @escaping (String) -> Bool) throws {
        let constants = try compiled.weights.map { weight in
            if weight.codec is StoredCodec {
                return StoredTensor(
                    name: weight.name, elementType: weight.elementType, shape: weight.shape, bytes: weight.sections[0])
            }
            return StoredTensor(
                name: weight.name, elementType: .float8e4m3, shape: weight.shape,
                bytes: try ByteView.zeros(weight.shape.count))
        }
        let functions = try compiled.functions.map {
            try FunctionLifting($0, constants: constants, isWeight: isWeight).lifted()
        }
        self.init(
            functions: functions,
            weights: compiled.weights.filter { isWeight($0.name) }.map {
                CompressedWeight(tensor: $0, distortion: Distortion(), reason: nil, readers: [])
            })
    }
}
