import Accel
import AccelByteIO
import AccelTensors
internal import CAccel

/// The tensors of a run, checked against the function before anything runs.
struct RunArguments: Sendable {
    /// An output without memory.
    struct Lent: Sendable {
        let name: String
        let index: Int
    }
    let function: FunctionObject
    private(set) var inputs: [String: StoredTensor] = [:]
    private(set) var memory: [OutputMemory] = []
    private(set) var lent: [Lent] = []
    private let outputs: TensorArray

    /// - Throws: `AccelError` with the location, the expected and the found value.
    init(
        _ function: FunctionObject, _ inputs: UnsafePointer<accel_tensor>?, _ inputCount: Int,
        _ outputs: UnsafeMutablePointer<accel_tensor>?, _ outputCount: Int
    ) throws(AccelError) {
        self.function = function
        self.outputs = try TensorArray(UnsafePointer(outputs), outputCount, "outputs")
        let given = try TensorArray(inputs, inputCount, "inputs")
        for index in 0..<given.count {
            let tensor = try StoredTensor(try given.tensor(index), of: function, "inputs[\(index)]")
            guard self.inputs.updateValue(tensor, forKey: tensor.name) == nil else {
                throw AccelError(.invalid, "is given more than once", at: place("input", tensor.name))
            }
        }
        for index in 0..<self.outputs.count { try addOutput(try self.outputs.tensor(index), index) }
        try function.function.description.check(self.inputs, outputs: Set(memory.map(\.name)))
    }

    private mutating func addOutput(_ tensor: accel_tensor, _ index: Int) throws(AccelError) {
        let name = try string(tensor.name, "outputs[\(index)].name")
        let place = place(of: name)
        guard !memory.contains(where: { $0.name == name }) else {
            throw AccelError(.invalid, "is given more than once", at: place)
        }
        guard let lentPort = function.output(name) else {
            // Throws, with the names that there are.
            return memory.append(OutputMemory(name, nil))
        }
        let expected = lentPort.port
        guard let data = tensor.data else {
            guard tensor.byte_count == 0 else {
                throw AccelError(
                    .invalid, expected: "memory", found: "NULL of \(UInt(bitPattern: tensor.byte_count)) bytes",
                    at: place)
            }
            lent.append(Lent(name: name, index: index))
            return memory.append(OutputMemory(name, nil))
        }
        let (type, shape) = try tensor.typeAndShape(for: expected, place)
        guard type == expected.elementType, shape == expected.shape else {
            throw AccelError(.invalid, expected: expected.typeText, found: "\(type.rawValue)\(shape)", at: place)
        }
        guard tensor.byte_count == lentPort.byteCount else {
            throw AccelError(
                .invalid, expected: "\(lentPort.byteCount) bytes", found: "\(UInt(bitPattern: tensor.byte_count))",
                at: place)
        }
        memory.append(OutputMemory(name, UnsafeMutableRawBufferPointer(start: data, count: tensor.byte_count)))
    }

    private func place(_ side: String, _ name: String) -> String {
        "\(function.function.description.name), \(side) \"\(name)\""
    }

    func place(of output: String) -> String { place("output", output) }

    /// Fills in the tensors of outputs without memory.
    func lend(_ made: [String: StoredTensor]) throws(AccelError) {
        for lent in lent {
            guard let tensor = made[lent.name], let port = function.output(lent.name) else {
                throw AccelError(.backend, "was not made", at: place(of: lent.name))
            }
            outputs.fill(lent.index, with: tensor, port)
        }
    }
}

extension accel_tensor {
    /// The type, and the shape, which may be left out.
    fileprivate func typeAndShape(
        for expected: FunctionDescription.Port, _ place: String
    ) throws(AccelError) -> (ElementType, Shape) {
        let (found, own) = try ownTypeAndShape(place)
        return shape == nil && rank == 0 ? (found, expected.shape) : (found, own)
    }

    /// The type and the shape.
    func ownTypeAndShape(_ place: String) throws(AccelError) -> (ElementType, Shape) {
        guard let elementType = ElementType(number: type) else {
            throw AccelError(
                .invalid, expected: "a type such as ACCEL_F32", found: "\(type)", at: place,
                hint: "ask accel_function_port"
            )
        }
        guard 0...64 ~= rank else {
            throw AccelError(.invalid, expected: "a rank of at most 64", found: "\(UInt(bitPattern: rank))", at: place)
        }
        let dimensions = try array(shape, rank, "shape")
        let found = Shape(dimensions.map { Int(clamping: $0) })
        guard dimensions.allSatisfy({ $0 >= 0 }), let count = found.checkedCount,
            !count.multipliedReportingOverflow(by: elementType.byteCount).overflow
        else { throw AccelError(.invalid, expected: "a shape", found: "\(dimensions), which has no size", at: place) }
        return (elementType, found)
    }
}

/// Memory of the caller's, which stays until the run has ended.
private final class CallersMemory: Sendable {
    static let owner = CallersMemory()
}

extension StoredTensor {
    /// An input where the caller has it.
    init(_ tensor: accel_tensor, of function: FunctionObject, _ argument: String) throws(AccelError) {
        let name = try string(tensor.name, "\(argument).name")
        let place = "\(function.function.description.name), input \"\(name)\""
        guard let port = function.input(name)?.port else {
            // Throws, with the names that there are.
            self.init(name: name, floats: [], shape: [0])
            return
        }
        let (type, shape) = try tensor.typeAndShape(for: port, place)
        let expected = shape.count * type.byteCount
        guard tensor.byte_count == expected else {
            let found = UInt(bitPattern: tensor.byte_count)
            throw AccelError(.invalid, expected: port.typeText, found: "\(found) bytes", at: place)
        }
        guard expected > 0 else {
            self.init(name: name, elementType: type, shape: shape, bytes: ByteView([UInt8]()))
            return
        }
        guard let data = tensor.data else {
            throw AccelError(.invalid, expected: port.typeText, found: "NULL", at: place)
        }
        guard UInt(bitPattern: data) % UInt(type.byteCount) == 0 else {
            throw AccelError(
                .invalid, expected: "memory on a boundary of \(type.byteCount) bytes", found: "an address that is none",
                at: place, hint: "copy the elements to memory that is aligned to them")
        }
        self.init(
            name: name, elementType: type, shape: shape,
            bytes: ByteView(owner: CallersMemory.owner, start: data, count: expected))
    }
}

/// An array of tensors of the caller's, whose stride is the size of its first element.
struct TensorArray: @unchecked Sendable {
    let count: Int
    private let start: UnsafeRawPointer?
    private let stride: Int

    init(_ pointer: UnsafePointer<accel_tensor>?, _ count: Int, _ name: String) throws(AccelError) {
        guard 0...4096 ~= count else {
            throw AccelError(
                .invalid, expected: "at most 4096 tensors", found: "\(UInt(bitPattern: count))", at: "argument \(name)")
        }
        self.count = count
        guard count > 0 else {
            (start, stride) = (nil, 0)
            return
        }
        let first = UnsafeRawPointer(try required(pointer, name))
        (start, stride) = (first, Int(first.loadUnaligned(as: UInt32.self)))
    }

    private func address(_ index: Int) -> UnsafeRawPointer? { start.map { $0 + index * stride } }

    func tensor(_ index: Int) throws(AccelError) -> accel_tensor {
        let pointer = try required(address(index), "tensors").assumingMemoryBound(to: accel_tensor.self)
        let size = Int(UnsafeRawPointer(pointer).loadUnaligned(as: UInt32.self))
        guard size == stride else {
            throw AccelError(
                .invalid, expected: "the size of the first element, \(stride)", found: "\(size)",
                at: "accel_tensor.struct_size", hint: "set it to sizeof(accel_tensor)")
        }
        return try CStruct.read(pointer, "accel_tensor")
    }

    func fill(_ index: Int, with tensor: StoredTensor, _ port: FunctionObject.LentPort) {
        guard let address = address(index) else { return }
        let pointer = UnsafeMutableRawPointer(mutating: address).assumingMemoryBound(to: accel_tensor.self)
        guard var written = CStruct(changing: pointer) else { return }
        written.set(\.type, tensor.elementType.number)
        written.set(\.data, tensor.bytes.withBytes { UnsafeMutableRawPointer(mutating: $0.baseAddress) })
        written.set(\.byte_count, tensor.bytes.count)
        written.set(\.shape, port.shape.pointer)
        written.set(\.rank, tensor.shape.rank)
    }
}
