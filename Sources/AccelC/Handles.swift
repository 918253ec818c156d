import Accel
import AccelByteIO
internal import CAccel

/// The number by which C refers to an object, never dereferenced. Its bits are a 1, so that it is no aligned address, the type, an index
/// into a table, and the number of times that the index was used, from a random one on.
struct Handle: Hashable, Sendable {
    /// The types of handles.
    enum Kind: UInt, Sendable {
        case model = 1
        case function, session, snapshot, stream, cancel, store, transcription

        /// The type in C.
        var name: String { "accel_\(self)" }
    }
    static let indexBits: UInt = 20
    /// After a 1 and the four bits of the type.
    private static let indexShift: UInt = 5
    private static let useShift = indexShift + indexBits
    /// The bits of the number of uses.
    static let uses = UInt.max >> useShift

    let kind: Kind
    let index: Int
    let use: UInt

    init(_ kind: Kind, _ index: Int, use: UInt) { (self.kind, self.index, self.use) = (kind, index, use) }

    /// nil for a number that no handle has.
    init?(_ pointer: OpaquePointer) {
        let bits = UInt(bitPattern: pointer)
        guard bits & 1 == 1, let kind = Kind(rawValue: bits >> 1 & 15) else { return nil }
        self.init(kind, Int(bits >> Self.indexShift & (1 << Self.indexBits - 1)), use: bits >> Self.useShift)
    }

    /// nil never: the last bit is set.
    var pointer: OpaquePointer? {
        OpaquePointer(bitPattern: use << Self.useShift | UInt(index) << Self.indexShift | kind.rawValue << 1 | 1)
    }
}

/// An object that C has a handle of.
protocol HandledObject: AnyObject, Sendable {
    static var kind: Handle.Kind { get }
}

/// The objects that C has handles of. A call takes its object out of it, so that releasing a handle during the call does no harm.
final class HandleTable: Sendable {
    private struct Slot {
        var use: UInt
        var object: (any HandledObject)?
    }
    private struct State {
        var slots: [Slot] = []
        var free: [Int] = []
    }
    static let all = HandleTable()
    private let state = Locked(State())
    /// Another one in each process and library, so that a handle of another library is none of this one.
    private let first = UInt.random(in: 0...Handle.uses)

    /// Adds an object.
    /// - Throws: `AccelError` (memory) if there are 2^20 objects.
    func add<Object: HandledObject>(_ object: Object) throws(AccelError) -> OpaquePointer? {
        let handle: Handle? = state.withLock { state in
            if let index = state.free.popLast() {
                state.slots[index].object = object
                return Handle(Object.kind, index, use: state.slots[index].use)
            }
            guard state.slots.count < 1 << Handle.indexBits else { return nil }
            state.slots.append(Slot(use: first, object: object))
            return Handle(Object.kind, state.slots.count - 1, use: first)
        }
        guard let handle else {
            throw AccelError(.memory, "there are 2^20 handles", at: Object.kind.name, hint: "release some")
        }
        return handle.pointer
    }

    /// Makes an object, and gives its handle to the caller: NULL until then, and if that fails.
    func give<Object: HandledObject>(
        to target: UnsafeMutablePointer<OpaquePointer?>?, _ name: String, _ make: () throws(AccelError) -> Object
    ) throws(AccelError) {
        let target = try required(target, name)
        target.pointee = nil
        target.pointee = try add(try make())
    }

    /// The object of a handle.
    /// - Throws: `AccelError` (invalid) if it has none of this type.
    func object<Object: HandledObject>(_ pointer: OpaquePointer?, as type: Object.Type) throws(AccelError) -> Object {
        let handle = try Handle(of: Object.kind, pointer)
        let found = state.withLock { state -> (any HandledObject)? in
            guard state.slots.indices.contains(handle.index), state.slots[handle.index].use == handle.use else {
                return nil
            }
            return state.slots[handle.index].object
        }
        guard let object = found as? Object else { throw AccelError(released: Object.kind) }
        return object
    }

    /// Removes a handle; its object lives until the last call that has it has ended.
    /// - Throws: as `object`.
    func remove<Object: HandledObject>(_ pointer: OpaquePointer?, as type: Object.Type) throws(AccelError) -> Object {
        let handle = try Handle(of: Object.kind, pointer)
        let removed = state.withLock { state -> (any HandledObject)? in
            guard state.slots.indices.contains(handle.index), state.slots[handle.index].use == handle.use,
                let object = state.slots[handle.index].object, Swift.type(of: object).kind == Object.kind
            else { return nil }
            state.slots[handle.index] = Slot(use: (handle.use &+ 1) & Handle.uses, object: nil)
            state.free.append(handle.index)
            return object
        }
        guard let object = removed as? Object else { throw AccelError(released: Object.kind) }
        return object
    }

    /// Removes the handle, for the functions with release in their names. NULL is no error, as for `free`.
    func release<Object: HandledObject>(_ pointer: OpaquePointer?, as type: Object.Type) -> accel_status {
        guard pointer != nil else { return AccelError.none }
        return attempt(nil) { () throws(AccelError) in _ = try remove(pointer, as: type) }
    }
}

extension Handle {
    /// - Throws: `AccelError` (invalid) for NULL, for a handle of another type, and for what is none.
    init(of kind: Kind, _ pointer: OpaquePointer?) throws(AccelError) {
        guard let pointer else {
            throw AccelError(.invalid, expected: "an \(kind.name)", found: "NULL", at: "a handle")
        }
        guard let handle = Handle(pointer) else { throw AccelError(released: kind) }
        guard handle.kind == kind else {
            throw AccelError(.invalid, expected: "an \(kind.name)", found: "an \(handle.kind.name)", at: "a handle")
        }
        self = handle
    }
}

extension AccelError {
    fileprivate init(released kind: Handle.Kind) {
        self.init(
            .invalid, expected: "an \(kind.name)", found: "a pointer that is none", at: "a handle",
            hint: "it was released, or another library made it")
    }
}
