import AccelByteIO
import CAccel
import Foundation
import TestSupport
import Testing

@Suite("Threads of C", .timeLimit(.minutes(5)))
struct CThreadTests {
    /// A pointer for other threads.
    private struct Sent<Value>: @unchecked Sendable {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    /// Calls `body` on so many threads, and waits for all.
    private func threads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let group = DispatchGroup()
        for index in 0..<count {
            group.enter()
            Thread {
                body(index)
                group.leave()
            }.start()
        }
        group.wait()
    }

    @Test("many threads run a function, each with the bits of one", arguments: [1, 3])
    func functions(concurrency: Int32) throws {
        let model = try CModel(try CPackages.encoder.get()) { $0.concurrency = concurrency }
        let function = Sent(try model.function("model"))
        @Sendable func run(_ first: Int64) -> [Float] {
            let (inputs, outputs) = (CTensors.encoder([first, 2, 3, 4, 5]), CTensors())
            let data = outputs.add("last_hidden_state", ACCEL_F32, [Float](repeating: 0, count: byteCount / 4))
            guard accel_function_run(function.value, inputs.tensors, 3, &outputs.tensors, 1, nil, nil) == 0 else {
                return []
            }
            return Array(UnsafeBufferPointer(start: data.assumingMemoryBound(to: Float.self), count: byteCount / 4))
        }
        var port = accel_port()
        port.struct_size = UInt32(MemoryLayout<accel_port>.size)
        #expect(accel_function_port(function.value, UInt32(ACCEL_OUTPUT), 0, &port, nil) == 0)
        let byteCount = port.byte_count
        let expected = (0..<8).map { run(Int64($0)) }
        let wrong = Locked(0)
        threads(8) { index in
            for _ in 0..<10 where run(Int64(index)) != expected[index] { wrong.withLock { $0 += 1 } }
        }
        #expect(wrong.withLock { $0 } == 0 && !expected[0].isEmpty && expected[0] != expected[1])
    }

    @Test("a session is of one call at a time: each of two calls at once succeeds, or is busy")
    func busy() throws {
        let model = try CModel(try CPackages.encoder.get())
        let (session, function) = (Sent(try model.session()), Sent(try model.function("model")))
        let counts = Locked([Int32: Int]())
        threads(4) { _ in
            let inputs = CTensors.encoder()
            for _ in 0..<50 {
                let status = accel_session_run(session.value, function.value, inputs.tensors, 3, nil, 0, nil, nil)
                counts.withLock { $0[status, default: 0] += 1 }
            }
        }
        let found = counts.withLock { $0 }
        #expect(Set(found.keys).isSubset(of: [0, Int32(ACCEL_BUSY)]) && found[0, default: 0] > 0, "\(found)")
        accel_session_release(session.value)
    }

    /// What an asynchronous run's callback has seen.
    private final class Seen: Sendable {
        let statuses = Locked<[Int32]>([])
        let semaphore = Sent(DispatchSemaphore(value: 0))
    }

    @Test("a run on a thread of the library calls back once; the session is free then, and busy before")
    func asynchronous() throws {
        let model = try CModel(try CPackages.encoder.get())
        let (session, function) = (try model.session(), try model.function("model"))
        defer { accel_session_release(session) }
        let (inputs, seen) = (CTensors.encoder(), Seen())
        let context = Unmanaged.passUnretained(seen).toOpaque()
        let done: accel_done = { context, status, error in
            guard let context else { return }
            let seen = Unmanaged<Seen>.fromOpaque(context).takeUnretainedValue()
            seen.statuses.withLock { $0.append(error?.pointee.code == status ? status : -1) }
            seen.semaphore.value.signal()
        }
        var error = CError()
        for _ in 0..<20 {
            let status = accel_session_run_async(
                session, function, inputs.tensors, 3, nil, 0, nil, done, context, &error.parts)
            #expect(status == 0, "\(error.message)")
            seen.semaphore.value.wait()
        }
        #expect(seen.statuses.withLock { $0 } == [Int32](repeating: 0, count: 20))
        #expect(accel_session_run_async(session, function, inputs.tensors, 2, nil, 0, nil, done, context, nil) == 2)
        #expect(accel_session_run_async(session, function, inputs.tensors, 3, nil, 0, nil, nil, context, nil) == 2)
        #expect(seen.statuses.withLock { $0.count } == 20, "an error of arguments is returned, and not called back")
    }

    @Test("a token that another thread requests ends the call that waits for its turn")
    func cancelWaiting() throws {
        let model = try CModel(try CPackages.encoder.get())
        let function = Sent(try model.function("model"))
        let cancel = Sent(accel_cancel_create())
        defer { accel_cancel_release(cancel.value) }
        let counts = Locked([Int32: Int]())
        threads(6) { index in
            if index == 0 {
                usleep(50_000)
                accel_cancel_request(cancel.value)
                return
            }
            let inputs = CTensors.encoder()
            var run = accel_run()
            (run.struct_size, run.cancel) = (UInt32(MemoryLayout<accel_run>.size), cancel.value)
            while true {
                let status = accel_function_run(function.value, inputs.tensors, 3, nil, 0, &run, nil)
                counts.withLock { $0[status, default: 0] += 1 }
                if status != 0 { return }
            }
        }
        let found = counts.withLock { $0 }
        #expect(found[Int32(ACCEL_CANCELLED)] == 5 && Set(found.keys) == [0, Int32(ACCEL_CANCELLED)], "\(found)")
    }

    @Test("handles that are released while other threads use them do no harm")
    func releasing() throws {
        let path = try CPackages.decoder.get()
        for _ in 0..<5 {
            let model = try CModel(path)
            let (session, function) = (Sent(try model.session()), Sent(accel_model_function_at(model.handle, 0)))
            let handle = Sent(model.handle)
            let wrong = Locked(0)
            threads(4) { index in
                var (options, stream, token) = (accel_generation(), OpaquePointer(bitPattern: 0), Int64(0))
                options.struct_size = UInt32(MemoryLayout<accel_generation>.size)
                let prompt: [Int64] = [1, 2, 3]
                for round in 0..<30 {
                    prompt.withUnsafeBufferPointer {
                        (options.tokens, options.token_count) = ($0.baseAddress, $0.count)
                        let made = accel_session_generate(session.value, &options, &stream, nil)
                        let statuses = [made, made == 0 ? accel_stream_next(stream, &token, nil) : 2]
                        accel_stream_release(stream)
                        if !Set(statuses).isSubset(of: [0, 1, 2, 15]) { wrong.withLock { $0 += 1 } }
                    }
                    if accel_function_name(function.value) == nil, index == 3 { continue }
                    if round == 10, index == 1 { accel_session_release(session.value) }
                    if round == 10, index == 2 { accel_model_release(handle.value) }
                }
            }
            #expect(wrong.withLock { $0 } == 0)
        }
    }
}
