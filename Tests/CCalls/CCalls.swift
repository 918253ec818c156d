import AccelByteIO
import AccelC
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import CAccel
import Foundation
import TestSupport

/// Small packages, which stay as long as the process.
private enum CFixture {
    nonisolated(unsafe) static let folder = try? TemporaryFolder(
        beside: "\(FileManager.default.temporaryDirectory.path)/fuzz-c")
    /// Functions of 4 tokens and of 1 over a cache of 8 positions.
    static let path: String = {
        guard let folder else { return "" }
        let path = "\(folder.path)/decoder.accelpkg"
        do {
            let checkpoint = try Checkpoint(model: Fixtures.path("qwen3_small"))
            let programs = try Families.matching(checkpoint.configuration).model(for: checkpoint, parts: []).programs
            let functions = try programs.freezing(
                [4, 1].map { ShapeBindings(["batch": 1, "tokens": $0, "cache": 8]) })
            let recipe = Recipe(default: try Codecs.codec("float32"))
            let compressed = try recipe.compressing(functions, threads: 1)
            try PackageWriter.write(
                PackageContents(
                    graph: try compressed.graph(), coverage: compressed.weights.map(CoverageEntry.init),
                    provenance: Provenance(sources: [], family: "fuzz", recipe: recipe.json, shapes: [])), to: path)
        } catch { preconditionFailure("\(error)") }
        return path
    }()
    /// The folder of a store.
    static let store = "\(folder?.path ?? "")/store"
    nonisolated(unsafe) static var model: OpaquePointer?
}

/// Calls of the C interface with arguments that bytes choose: right, wrong, and of other calls. Pointers are valid or NULL, since no library
/// can tell others from these.
public final class CCalls {
    private var bytes: ArraySlice<UInt8>
    private var handles: [OpaquePointer?] = [nil]
    /// Zeros, in which structs, arrays, elements and strings lie.
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 4096)
    private var used = 0
    private let semaphore = DispatchSemaphore(value: 0)

    /// Calls that the bytes choose.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes[...]
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        if accel_model_function_count(CFixture.model) == 0 {
            precondition(accel_model_open(CFixture.path, nil, &CFixture.model, nil) == 0, "the fixture does not open")
        }
        handles.append(CFixture.model)
        for index in 0..<accel_model_function_count(CFixture.model) {
            handles.append(accel_model_function_at(CFixture.model, index))
        }
        for create in [0, 1] {  // one session of the model, and one token
            var made: OpaquePointer?
            if create == 0 {
                _ = accel_session_create(CFixture.model, &made, nil)
            } else {
                made = accel_cancel_create()
            }
            handles.append(made)
        }
    }

    deinit {
        for handle in handles where handle != CFixture.model { release(handle) }
        memory.deallocate()
    }

    /// Whether there are bytes for another call.
    public var hasMore: Bool { !bytes.isEmpty }
    private func byte() -> Int { Int(bytes.popFirst() ?? 0) }
    private func choose<Value>(_ values: [Value]) -> Value { values[byte() % values.count] }
    private func handle() -> OpaquePointer? {
        let byte = byte()
        if byte == 255 {
            return OpaquePointer(bitPattern: UInt(self.byte()) << 56 | UInt(self.byte()) << 4 | UInt(self.byte()))
        }
        return handles[byte % handles.count]
    }

    private func place(_ size: Int) -> UnsafeMutableRawPointer? {
        precondition(used + size <= memory.count, "a call needs more memory")
        defer { used += (size + 63) / 64 * 64 }
        return memory.baseAddress.map { $0 + used }
    }

    private func text() -> UnsafeMutablePointer<CChar>? {
        let text = choose([
            nil, "", "decoder", "decoder[batch=1,cache=8,tokens=1]", "input_ids", "position", "logits", "cpu",
            "reference,cpu",
            "key:0", "\u{FF}é", "\"",
        ])
        guard let text, let start = place(64) else { return nil }
        start.copyMemory(from: Array(text.utf8) + [0], byteCount: text.utf8.count + 1)
        return start.assumingMemoryBound(to: CChar.self)
    }

    /// A struct with a size, right or wrong; what follows it are zeros of an array's further elements.
    private func `struct`<Content: BitwiseCopyable>(
        _ content: Content, elements: Int = 1, _ change: (inout Content) -> Void
    ) -> UnsafeMutablePointer<Content>? {
        if byte() == 0 { return nil }
        let size = MemoryLayout<Content>.size
        let sizes = [size, size, size, size, size + 8, 0, 4, 7, 8, 16, size - 4, 4096, 4097, Int(UInt32.max)]
        let claimed = choose(sizes)
        let stride = min(claimed, 4096)
        guard let start = place(4096 * (elements + 1)) else { return nil }
        for index in 0..<elements {
            var content = content
            change(&content)
            withUnsafeBytes(of: content) {
                UnsafeMutableRawBufferPointer(start: start + index * stride, count: size).copyMemory(from: $0)
            }
            (start + index * stride).storeBytes(of: UInt32(truncatingIfNeeded: claimed), as: UInt32.self)
        }
        return start.bindMemory(to: Content.self, capacity: elements)
    }

    private let numbers: [Int64] = [0, 1, 4, 8, 2, 3, -1, 16, 32, 40, .max, .min, 1 << 32, 1 << 61]
    private func count() -> Int { choose([1, 2, 0, 3, -1, .max, .min, 4097, 1 << 61]) }

    private func tensors() -> UnsafeMutablePointer<accel_tensor>? {
        `struct`(accel_tensor(), elements: 3) { tensor in
            tensor.type = UInt32(choose([7, 1, 2, 15, 0, 99]))
            tensor.name = UnsafePointer(text())
            // Nothing of the fixture has more bytes than this.
            tensor.data = byte() % 4 == 0 ? nil : place(1 << 13)
            if byte() % 8 == 0 { tensor.data? += 1 }
            tensor.byte_count = Int(choose(numbers))
            guard byte() % 2 == 0, let start = place(128) else { return }
            tensor.shape = UnsafePointer(start.assumingMemoryBound(to: Int64.self))
            for index in 0..<4 { start.storeBytes(of: choose(numbers), toByteOffset: index * 8, as: Int64.self) }
            tensor.rank = choose([2, 1, 0, 4, -1, .max, 65])
        }
    }

    private func run() -> UnsafeMutablePointer<accel_run>? {
        `struct`(accel_run()) { run in
            run.time_limit_ms = choose(numbers)
            run.cancel = handle()
            run.flags = byte() == 1 ? 1 : 0
        }
    }

    private func generation() -> UnsafeMutablePointer<accel_generation>? {
        let tokens = (place(256)?.assumingMemoryBound(to: Int64.self)).map { start in
            for index in 0..<8 { start[index] = choose(numbers) }
            return UnsafePointer(start)
        }
        return `struct`(accel_generation()) { options in
            options.sampling = UInt32(choose([0, 1, 2]))
            (options.tokens, options.token_count) = (byte() == 1 ? nil : tokens, choose([3, 1, 8, 0, -1, .max]))
            (options.stop_tokens, options.stop_token_count) = (tokens, choose([0, 2, -1]))
            options.max_tokens = choose(numbers)
            options.temperature = choose([0, 1, -1, .nan, .infinity, 1e-30])
            options.top_p = choose([0, 1, 0.5, -1, .nan])
            options.top_k = choose(numbers)
            options.time_limit_ms = choose([0, 0, 1000, -1, .max])
            options.cancel = handle()
            if byte() % 4 == 0 { (options.inputs, options.input_count) = (UnsafePointer(tensors()), count()) }
        }
    }

    private func speech() -> UnsafeMutablePointer<accel_speech>? {
        let samples = place(256).map { UnsafePointer($0.assumingMemoryBound(to: Float.self)) }
        return `struct`(accel_speech()) { speech in
            speech.flags = UInt32(choose([0, 1, 2]))
            (speech.samples, speech.sample_count) = (byte() == 1 ? nil : samples, choose([32, 0, 1, -1, .max]))
            speech.sample_rate = choose([16_000, 0, 1, .max])
            speech.channel_count = choose([0, 1, 3, .max])
            speech.language = UnsafePointer(text())
            speech.time_limit_ms = choose([0, 1, -1, .max])
            speech.cancel = handle()
        }
    }

    private func release(_ handle: OpaquePointer?) {
        _ = (accel_stream_release(handle), accel_session_release(handle), accel_snapshot_release(handle))
        _ = (accel_cancel_release(handle), accel_model_release(handle), accel_store_release(handle))
        _ = accel_transcription_release(handle)
    }

    /// One call; its status is one of the header's, and the error has it.
    public func call() {
        // A call's memory is its own.
        used = 0
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        let error = `struct`(accel_error()) { _ in }
        let size = error.map { UnsafeRawPointer($0).load(as: UInt32.self) } ?? 0
        var (made, token) = (OpaquePointer(bitPattern: 0), Int64(0))
        var status: accel_status?
        switch byte() % 25 {
        case 0: status = accel_session_create(handle(), &made, error)
        case 1, 2: status = accel_session_generate(handle(), generation(), &made, error)
        case 3, 4, 5: status = accel_stream_next(handle(), &token, error)
        case 6: status = accel_stream_summary(handle(), `struct`(accel_summary()) { _ in }, error)
        case 7, 8: status = accel_session_run(handle(), handle(), tensors(), count(), tensors(), count(), run(), error)
        case 9: status = accel_function_run(handle(), tensors(), count(), tensors(), count(), run(), error)
        case 10:
            let context = Unmanaged.passUnretained(semaphore).toOpaque()
            status = accel_session_run_async(
                handle(), handle(), tensors(), count(), tensors(), count(), run(),
                { context, _, _ in
                    if let context { Unmanaged<DispatchSemaphore>.fromOpaque(context).takeUnretainedValue().signal() }
                }, context, error)
            if status == 0 { semaphore.wait() }
        case 11: status = accel_session_rewind(handle(), choose(numbers), error)
        case 12: status = accel_session_reset(handle(), error)
        case 13: status = accel_session_snapshot(handle(), &made, error)
        case 14: status = accel_session_restore(handle(), handle(), error)
        case 15:
            let (kind, index) = (UInt32(choose([0, 1, 2, 3, 255])), Int(choose(numbers)))
            status = accel_function_port(handle(), kind, index, `struct`(accel_port()) { _ in }, error)
            _ = (accel_function_port_count(handle(), kind), accel_model_function_at(handle(), index))
        case 16:
            var function: OpaquePointer?
            status = accel_model_function(handle(), text(), &function, error)
            _ = (accel_function_name(handle()), accel_model_info_json(handle()), accel_snapshot_byte_count(handle()))
        case 17: _ = (accel_cancel_request(handle()), accel_status_text(Int32(truncatingIfNeeded: choose(numbers))))
        case 18: release(byte() % 4 == 0 ? handle() : handles.last ?? nil)
        case 19:
            let options = `struct`(accel_store_options()) { options in
                options.flags = byte() == 1 ? 1 : 0
                options.profile = UnsafePointer(text())
                options.byte_limit = UInt64(bitPattern: choose(numbers))
            }
            status = accel_store_open(byte() % 8 == 0 ? CFixture.path : CFixture.store, options, &made, error)
        case 20:
            let each: accel_each_stored = { _, _ in }
            status = accel_store_list(handle(), byte() % 4 == 0 ? nil : each, nil, error)
        case 21: status = accel_store_model(handle(), text(), `struct`(accel_options()) { _ in }, &made, error)
        case 22:
            let name = text()
            switch byte() % 4 {
            case 0: status = accel_store_roll_back(handle(), name, error)
            case 1: status = accel_store_remove(handle(), name, error)
            default:
                let options = `struct`(accel_options()) { $0.cancel = handle() }
                let path = byte() % 8 == 0 ? "/nowhere" : CFixture.path
                status = accel_store_update(handle(), name, path, options, error)
            }
        case 23:
            switch byte() % 3 {
            // A decoder of texts transcribes nothing.
            case 0: status = accel_model_transcribe(handle(), speech(), &made, error)
            case 1: status = accel_transcription_next(handle(), `struct`(accel_segment()) { _ in }, error)
            default: status = accel_transcription_summary(handle(), `struct`(accel_transcript()) { _ in }, error)
            }
        default:
            let options = `struct`(accel_options()) { options in
                options.preset = UInt32(choose([4, 0, 1, 2, 3, 5]))
                options.backends = UnsafePointer(text())
                options.threads = Int32(truncatingIfNeeded: choose(numbers))
                options.concurrency = Int32(truncatingIfNeeded: choose(numbers))
                options.memory_limit = UInt64(bitPattern: choose(numbers))
                options.preparation_limit_ms = choose(numbers)
                options.flags = UInt32(truncatingIfNeeded: choose(numbers))
                options.cancel = handle()
            }
            status = accel_model_open(byte() % 2 == 0 ? CFixture.path : "/nowhere", options, &made, error)
        }
        if let made { handles.append(made) }
        guard let status else { return }
        precondition(0...15 ~= status && status != Int32(ACCEL_INTERNAL), "status \(status)")
        precondition(made == nil || status == 0, "a handle comes with an error")
        if let error, size >= MemoryLayout<accel_error>.size {
            precondition(error.pointee.code == status || status == Int32(ACCEL_END), "an error has another code")
        }
    }
}
