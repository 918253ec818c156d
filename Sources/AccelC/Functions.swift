// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Accel
import AccelByteIO
import AccelPrograms
import AccelTensors
public import CAccel

/// The object behind a function handle.
final class FunctionObject: HandledObject {
    static let kind = Handle.Kind.function
    let function: AccelFunction
    private let memory = LentMemory()
    private let name: Address<CChar>
    private let ports: [[LentPort]]

    /// An address of lent memory, which nobody writes.
    struct Address<Element>: @unchecked Sendable {
        let pointer: UnsafePointer<Element>
        init(_ pointer: UnsafePointer<Element>) { self.pointer = pointer }
    }

    /// A port with what C reads of it.
    struct LentPort: Sendable {
        let port: FunctionDescription.Port
        let name, role: Address<CChar>
        let shape: Address<Int64>
        /// The bytes of its tensors; shapes of packages are checked.
        var byteCount: Int { port.shape.count * port.elementType.byteCount }

        init(_ port: FunctionDescription.Port, in memory: LentMemory) {
            self.port = port
            name = Address(memory.string(port.name))
            role = Address(memory.string(port.role.kind.rawValue))
            shape = Address(memory.array(port.shape.dimensions.map(Int64.init)))
        }
    }

    init(_ function: AccelFunction) {
        self.function = function
        let (memory, description) = (memory, function.description)
        name = Address(memory.string(description.name))
        // In the order of ACCEL_INPUT, ACCEL_OUTPUT, ACCEL_STATE.
        ports = [description.inputs, description.outputs, description.states].map { side in
            side.map { LentPort($0, in: memory) }
        }
    }

    var nameText: UnsafePointer<CChar> { name.pointer }

    /// The ports of a kind.
    /// - Throws: `AccelError` (invalid) for a number that is no kind.
    func ports(_ kind: UInt32) throws(AccelError) -> [LentPort] {
        guard kind < ports.count else {
            throw AccelError(
                .invalid, expected: "ACCEL_INPUT, ACCEL_OUTPUT or ACCEL_STATE", found: "\(kind)", at: "kind")
        }
        return ports[Int(kind)]
    }

    func input(_ name: String) -> LentPort? { ports[Int(ACCEL_INPUT)].first { $0.port.name == name } }
    func output(_ name: String) -> LentPort? { ports[Int(ACCEL_OUTPUT)].first { $0.port.name == name } }
}

extension RunOptions {
    /// The options of the caller; nil for none.
    init(_ run: UnsafePointer<accel_run>?) throws(AccelError) {
        self.init()
        guard let run = try optional(run, "accel_run") else { return }
        guard run.flags == 0 else {
            throw AccelError(.unsupported, expected: "0", found: "\(run.flags)", at: "accel_run.flags")
        }
        timeLimit = try AccelC.timeLimit(run.time_limit_ms, "accel_run.time_limit_ms")
        isCancelled = try CancelTokens.all.poll(run.cancel)
    }
}

@c @implementation public func accel_function_name(_ function: OpaquePointer?) -> UnsafePointer<CChar>? {
    (try? HandleTable.all.object(function, as: FunctionObject.self))?.nameText
}

@c @implementation public func accel_function_port_count(_ function: OpaquePointer?, _ kind: UInt32) -> Int {
    (try? HandleTable.all.object(function, as: FunctionObject.self).ports(kind))?.count ?? 0
}

@c @implementation public func accel_function_port(
    _ function: OpaquePointer?, _ kind: UInt32, _ index: Int, _ port: UnsafeMutablePointer<accel_port>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let target = try required(port, "port")
        let ports = try HandleTable.all.object(function, as: FunctionObject.self).ports(kind)
        guard ports.indices.contains(index) else {
            throw AccelError(
                .notFound, expected: "an index below \(ports.count)", found: "\(UInt(bitPattern: index))", at: "index")
        }
        guard var written = CStruct(filling: target) else { throw AccelError(unset: "accel_port") }
        let lent = ports[index]
        written.set(\.type, lent.port.elementType.number)
        written.set(\.name, lent.name.pointer)
        written.set(\.role, lent.role.pointer)
        written.set(\.shape, lent.shape.pointer)
        written.set(\.rank, lent.port.shape.rank)
        written.set(\.byte_count, lent.byteCount)
    }
}

@c @implementation public func accel_function_run(
    _ function: OpaquePointer?, _ inputs: UnsafePointer<accel_tensor>?, _ inputCount: Int,
    _ outputs: UnsafeMutablePointer<accel_tensor>?, _ outputCount: Int, _ run: UnsafePointer<accel_run>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let object = try HandleTable.all.object(function, as: FunctionObject.self)
        let arguments = try RunArguments(object, inputs, inputCount, outputs, outputCount)
        if let lent = arguments.lent.first {
            throw AccelError(
                .invalid, expected: "memory", found: "NULL", at: arguments.place(of: lent.name),
                hint: "give memory, or run the function in a session")
        }
        _ = try object.function.run(arguments.inputs, into: arguments.memory, try RunOptions(run))
    }
}

extension AccelError {
    /// A struct to fill in whose size was not set.
    init(unset name: String) {
        self.init(
            .invalid, expected: "the size of the struct", found: "0", at: "\(name).struct_size",
            hint: "set it to sizeof(\(name))")
    }
}
