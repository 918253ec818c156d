// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Accel
import AccelByteIO
import AccelTensors
public import CAccel
import Synchronization

/// The object behind a session handle.
final class SessionObject: HandledObject {
    static let kind = Handle.Kind.session
    let session: AccelSession
    private let isBusy = Atomic(false)
    /// The outputs of the last run that lie in the library's memory.
    private let lent = Locked<[StoredTensor]>([])

    init(_ session: AccelSession) { self.session = session }

    /// - Throws: `AccelError` (busy) if another call has the session.
    func enter() throws(AccelError) {
        guard isBusy.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged else {
            throw AccelError(
                .busy, "another call has it", at: "a session",
                hint: "make one for each thread, or wait for the other call")
        }
    }

    func leave() { isBusy.store(false, ordering: .releasing) }

    /// Waits for work of the session, which no other call has meanwhile.
    func alone<Success: Sendable>(
        _ body: @escaping @Sendable (AccelSession) async throws(AccelError) -> Success
    ) throws(AccelError) -> Success {
        try enter()
        defer { leave() }
        return try within(body)
    }

    private func within<Success: Sendable>(
        _ body: @escaping @Sendable (AccelSession) async throws(AccelError) -> Success
    ) throws(AccelError) -> Success {
        let session = session
        return try WaitingThread.wait { () async throws(AccelError) -> Success in try await body(session) }
    }

    /// The function of a handle.
    /// - Throws: `AccelError` (invalid) if it is of another model.
    func function(_ pointer: OpaquePointer?) throws(AccelError) -> FunctionObject {
        let object = try HandleTable.all.object(pointer, as: FunctionObject.self)
        guard object.function.model === session.model else {
            throw AccelError(.invalid, "is of another model than the session", at: object.function.description.name)
        }
        return object
    }

    /// Runs a function. The session has to be entered.
    func run(_ arguments: RunArguments, _ options: RunOptions) throws(AccelError) {
        lent.withLock { $0 = [] }
        let made = try within { session throws(AccelError) in
            try await session.run(
                arguments.function.function.description, arguments.inputs, into: arguments.memory, options)
        }
        lent.withLock { $0 = Array(made.values) }
        try arguments.lend(made)
    }
}

/// The object behind a snapshot handle.
final class SnapshotObject: HandledObject {
    static let kind = Handle.Kind.snapshot
    let snapshot: AccelSession.Snapshot
    let model: AccelModel

    init(_ snapshot: AccelSession.Snapshot, of model: AccelModel) { (self.snapshot, self.model) = (snapshot, model) }
}

@c @implementation public func accel_session_create(
    _ model: OpaquePointer?, _ session: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try HandleTable.all.give(to: session, "session") { () throws(AccelError) in
            SessionObject(try HandleTable.all.object(model, as: ModelObject.self).model.makeSession())
        }
    }
}

@c @implementation public func accel_session_release(_ session: OpaquePointer?) -> accel_status {
    HandleTable.all.release(session, as: SessionObject.self)
}

@c @implementation public func accel_session_run(
    _ session: OpaquePointer?, _ function: OpaquePointer?, _ inputs: UnsafePointer<accel_tensor>?, _ inputCount: Int,
    _ outputs: UnsafeMutablePointer<accel_tensor>?, _ outputCount: Int, _ run: UnsafePointer<accel_run>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let object = try HandleTable.all.object(session, as: SessionObject.self)
        let arguments = try RunArguments(
            try object.function(function), inputs, inputCount, outputs, outputCount)
        let options = try RunOptions(run)
        try object.enter()
        defer { object.leave() }
        try object.run(arguments, options)
    }
}

@c @implementation public func accel_session_run_async(
    _ session: OpaquePointer?, _ function: OpaquePointer?, _ inputs: UnsafePointer<accel_tensor>?, _ inputCount: Int,
    _ outputs: UnsafeMutablePointer<accel_tensor>?, _ outputCount: Int, _ run: UnsafePointer<accel_run>?,
    _ done: accel_done?, _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let object = try HandleTable.all.object(session, as: SessionObject.self)
        let done = Callback(function: try required(done, "done"), context: context)
        let arguments = try RunArguments(
            try object.function(function), inputs, inputCount, outputs, outputCount)
        let options = try RunOptions(run)
        try object.enter()
        let hasStarted = DetachedThread.start {
            var error = accel_error()
            error.struct_size = UInt32(MemoryLayout<accel_error>.size)
            let status = attempt(&error) { () throws(AccelError) in
                // The session is free when the callback comes: it may run the next function.
                defer { object.leave() }
                try object.run(arguments, options)
            }
            done.function(done.context, status, &error)
        }
        guard hasStarted else {
            object.leave()
            throw AccelError(.memory, "the system makes no more threads", at: "a run")
        }
    }
}

@c @implementation public func accel_session_reset(
    _ session: OpaquePointer?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try HandleTable.all.object(session, as: SessionObject.self).alone { session throws(AccelError) in
            await session.reset()
        }
    }
}

@c @implementation public func accel_session_rewind(
    _ session: OpaquePointer?, _ position: Int64, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try HandleTable.all.object(session, as: SessionObject.self).alone { session throws(AccelError) in
            try await session.rewind(to: Int(clamping: position))
        }
    }
}

@c @implementation public func accel_session_snapshot(
    _ session: OpaquePointer?, _ snapshot: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        try HandleTable.all.give(to: snapshot, "snapshot") { () throws(AccelError) in
            let object = try HandleTable.all.object(session, as: SessionObject.self)
            let made = try object.alone { session throws(AccelError) in try await session.snapshot() }
            return SnapshotObject(made, of: object.session.model)
        }
    }
}

@c @implementation public func accel_session_restore(
    _ session: OpaquePointer?, _ snapshot: OpaquePointer?, _ error: UnsafeMutablePointer<accel_error>?
) -> accel_status {
    attempt(error) { () throws(AccelError) in
        let object = try HandleTable.all.object(session, as: SessionObject.self)
        let kept = try HandleTable.all.object(snapshot, as: SnapshotObject.self)
        guard kept.model === object.session.model else {
            throw AccelError(.invalid, "is of another model than the session", at: "a snapshot")
        }
        try object.alone { session throws(AccelError) in try await session.restore(kept.snapshot) }
    }
}

@c @implementation public func accel_snapshot_byte_count(_ snapshot: OpaquePointer?) -> UInt64 {
    let object = try? HandleTable.all.object(snapshot, as: SnapshotObject.self)
    return UInt64(clamping: object?.snapshot.byteCount ?? 0)
}

@c @implementation public func accel_snapshot_release(_ snapshot: OpaquePointer?) -> accel_status {
    HandleTable.all.release(snapshot, as: SnapshotObject.self)
}
