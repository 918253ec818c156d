import Accel
import AccelByteIO
import CAccel
import Foundation
import TestSupport
import Testing

@Suite("Sessions and streams of C")
struct CSessionTests {
    private static let prompt: [Int64] = [5, 17, 3, 29, 11, 2]

    /// The tokens of Swift's stream, past those that end texts by the package.
    private func expected(_ options: GenerationOptions, _ prompt: [Int64] = prompt) async throws -> [Int64] {
        var options = options
        options.stopTokens = options.stopTokens ?? []
        let model = try await AccelModel(.path(try CPackages.decoder.get()), configuration: .reproducible)
        var tokens: [Int64] = []
        for try await token in try model.makeSession().generate(from: prompt, options) { tokens.append(token) }
        return tokens
    }

    /// The tokens of a stream of C, and how it ended. By default no token stops it.
    private func tokens(
        _ session: OpaquePointer?, _ prompt: [Int64] = prompt, _ change: (inout accel_generation) -> Void = { _ in }
    ) throws -> ([Int64], accel_summary) {
        var (options, stream, error) = (accel_generation(), OpaquePointer(bitPattern: 0), CError())
        options.struct_size = UInt32(MemoryLayout<accel_generation>.size)
        let status = prompt.withUnsafeBufferPointer {
            (options.tokens, options.token_count) = ($0.baseAddress, $0.count)
            options.stop_tokens = $0.baseAddress
            change(&options)
            return accel_session_generate(session, &options, &stream, &error.parts)
        }
        guard status == 0 else { throw CFailure(error) }
        defer { accel_stream_release(stream) }
        var (tokens, token, summary) = ([Int64](), Int64(0), accel_summary())
        summary.struct_size = UInt32(MemoryLayout<accel_summary>.size)
        while true {
            let status = accel_stream_next(stream, &token, &error.parts)
            if status == Int32(ACCEL_END) { break }
            guard status == 0 else { throw CFailure(error) }
            tokens.append(token)
        }
        #expect(accel_stream_summary(stream, &summary, &error.parts) == 0)
        return (tokens, summary)
    }

    @Test("a stream of C has the tokens of Swift's; what the session holds does not run again")
    func greedy() async throws {
        let expected = try await expected(GenerationOptions(maxTokens: 5))
        let model = try CModel(try CPackages.decoder.get())
        let session = try model.session()
        defer { accel_session_release(session) }
        var (found, summary) = try tokens(session) { $0.max_tokens = 5 }
        #expect(found == expected && summary.reason == UInt32(ACCEL_MAX_TOKENS) && summary.generated_tokens == 5)
        #expect(summary.prompt_tokens == 6 && summary.reused_tokens == 0 && summary.prompt_ns > 0)
        (found, summary) = try tokens(session, Self.prompt + expected.prefix(2)) { $0.max_tokens = 3 }
        #expect(found == Array(expected.suffix(3)) && summary.reused_tokens == 7)
    }

    @Test("without stop tokens a stream ends at those of the package")
    func ofThePackage() async throws {
        let path = try CPackages.decoder.get()
        let ends = try await AccelModel(.path(path), configuration: .reproducible).stopTokens()
        let expected = try await expected(GenerationOptions(maxTokens: 8, stopTokens: ends))
        #expect(!ends.isEmpty)
        let model = try CModel(path)
        let session = try model.session()
        defer { accel_session_release(session) }
        let (found, _) = try tokens(session) { ($0.max_tokens, $0.stop_tokens) = (8, nil) }
        #expect(found == expected)
    }

    @Test("sampling, stop tokens and the cache's end are those of Swift")
    func options() async throws {
        let sampling = GenerationOptions.Sampling.random(temperature: 0.7, topK: 9, topP: 0.9, seed: 4)
        let expected = try await expected(GenerationOptions(maxTokens: 6, sampling: sampling))
        let model = try CModel(try CPackages.decoder.get())
        let session = try model.session()
        defer { accel_session_release(session) }
        func random(_ options: inout accel_generation) {
            options.sampling = UInt32(ACCEL_RANDOM)
            (options.temperature, options.top_k, options.top_p, options.seed) = (0.7, 9, 0.9, 4)
        }
        #expect(
            try tokens(session) {
                random(&$0)
                $0.max_tokens = 6
            }.0 == expected)
        let (full, end) = try tokens(session)
        #expect(end.reason == UInt32(ACCEL_CACHE_FULL) && full.count == 16 - 6 + 1)
        try [full[2]].withUnsafeBufferPointer { stop in
            let (found, summary) = try tokens(session) { ($0.stop_tokens, $0.stop_token_count) = (stop.baseAddress, 1) }
            #expect(summary.reason == UInt32(ACCEL_STOP_TOKEN))
            #expect(found == Array(full[...(full.firstIndex(of: full[2]) ?? 0)]))
        }
    }

    @Test("options that mean nothing are rejected")
    func rejections() throws {
        let model = try CModel(try CPackages.decoder.get())
        let session = try model.session()
        defer { accel_session_release(session) }
        let token = accel_cancel_create()
        accel_cancel_release(token)
        let changes: [(inout accel_generation) -> Void] = [
            { $0.max_tokens = -1 }, { $0.max_tokens = .max }, { $0.sampling = 2 }, { $0.time_limit_ms = .min },
            { ($0.sampling, $0.temperature) = (1, .nan) }, { ($0.sampling, $0.temperature) = (1, -1) },
            { ($0.sampling, $0.top_p) = (1, 2) }, { ($0.sampling, $0.top_p) = (1, .nan) },
            { ($0.sampling, $0.top_k) = (1, -1) },
            { $0.token_count = -1 }, { $0.token_count = .max }, { $0.tokens = nil },
            { ($0.stop_tokens, $0.stop_token_count) = (nil, 3) },
            { $0.input_count = 1 }, { $0.input_count = -1 }, { $0.struct_size = 0 }, { $0.cancel = token },
            { $0.cancel = session },
        ]
        for (index, change) in changes.enumerated() {
            #expect(throws: CFailure.self, "\(index)") { try tokens(session, change: change) }
        }
        #expect(throws: CFailure.self, "no tokens") { try tokens(session, []) }
        #expect(throws: CFailure.self, "a token below 0") { try tokens(session, [-1]) }
        #expect(throws: CFailure.self, "a token that the model does not have") { try tokens(session, [.max]) }
        #expect(throws: CFailure.self, "more than the cache holds") {
            try tokens(session, [Int64](repeating: 1, count: 17))
        }
        #expect(throws: CFailure.self, "an input that the model does not have") {
            let inputs = CTensors()
            inputs.add("extra", ACCEL_F32, [1, 2] as [Float])
            _ = try tokens(session) {
                (inputs.tensors[0].shape, inputs.tensors[0].rank) = (nil, 0)
                inputs.tensors[0].byte_count = 4
                $0.input_count = 1
                $0.inputs = inputs.tensors.withUnsafeBufferPointer { $0.baseAddress }
            }
        }
        #expect(try tokens(session) { $0.max_tokens = 2 }.0.count == 2, "the session is usable")
    }

    private func tokens(
        _ session: OpaquePointer?, change: (inout accel_generation) -> Void
    ) throws -> ([Int64], accel_summary) { try tokens(session, Self.prompt, change) }

    @Test("a requested token ends a stream before its next token, and a run, whose states stay")
    func cancelled() throws {
        let model = try CModel(try CPackages.decoder.get())
        let session = try model.session()
        defer { accel_session_release(session) }
        let cancel = accel_cancel_create()
        defer { accel_cancel_release(cancel) }
        #expect(try tokens(session) { ($0.max_tokens, $0.cancel) = (2, cancel) }.0.count == 2)
        #expect(accel_cancel_request(cancel) == 0)
        let (found, summary) = try tokens(session) { $0.cancel = cancel }
        #expect(found.isEmpty && summary.reason == UInt32(ACCEL_STREAM_CANCELLED))
        var (run, error) = (accel_run(), CError())
        (run.struct_size, run.cancel) = (UInt32(MemoryLayout<accel_run>.size), cancel)
        let step = CTensors()
        step.add("input_ids", ACCEL_I64, [1] as [Int64])
        step.add("position", ACCEL_I64, [0] as [Int64])
        let function = try model.function("decoder[batch=1,cache=16,tokens=1]")
        #expect(
            accel_session_run(session, function, step.tensors, 2, nil, 0, &run, &error.parts) == Int32(ACCEL_CANCELLED))
        #expect(accel_function_run(function, step.tensors, 2, nil, 0, &run, &error.parts) == Int32(ACCEL_CANCELLED))
        run.cancel = nil
        run.time_limit_ms = .max
        #expect(
            accel_session_run(session, function, step.tensors, 2, nil, 0, &run, &error.parts) == 0, "\(error.message)")
        run.time_limit_ms = -1
        #expect(accel_session_run(session, function, step.tensors, 2, nil, 0, &run, &error.parts) == 2)
        run.time_limit_ms = 0
        run.flags = 1
        #expect(
            accel_session_run(session, function, step.tensors, 2, nil, 0, &run, &error.parts)
                == Int32(ACCEL_UNSUPPORTED))
    }

    @Test("snapshots, rewinding and resetting bring states back; those of other models are rejected")
    func snapshots() throws {
        let model = try CModel(try CPackages.decoder.get())
        let session = try model.session()
        defer { accel_session_release(session) }
        let first = try tokens(session) { $0.max_tokens = 4 }
        var (snapshot, error) = (OpaquePointer(bitPattern: 0), CError())
        #expect(accel_session_snapshot(session, &snapshot, &error.parts) == 0)
        defer { accel_snapshot_release(snapshot) }
        #expect(accel_snapshot_byte_count(snapshot) > 0)
        _ = try tokens(session, [9, 9, 9]) { $0.max_tokens = 4 }
        #expect(accel_session_restore(session, snapshot, &error.parts) == 0)
        let again = try tokens(session) { $0.max_tokens = 4 }
        #expect(again.0 == first.0 && again.1.reused_tokens == 5)
        #expect(accel_session_rewind(session, 2, &error.parts) == 0)
        #expect(accel_session_rewind(session, 3, &error.parts) == 2 && accel_session_rewind(session, -1, nil) == 2)
        #expect(accel_session_rewind(session, .max, nil) == 2)
        #expect(try tokens(session) { $0.max_tokens = 4 }.1.reused_tokens == 2)
        #expect(accel_session_reset(session, &error.parts) == 0)
        #expect(try tokens(session) { $0.max_tokens = 4 }.1.reused_tokens == 0)
        let other = try CModel(try CPackages.encoder.get())
        let foreign = try other.session()
        defer { accel_session_release(foreign) }
        #expect(accel_session_restore(foreign, snapshot, &error.parts) == 2)
        let function = try other.function("model")
        #expect(accel_session_run(session, function, nil, 0, nil, 0, nil, &error.parts) == 2)
        #expect(error.message.contains("of another model"))
    }
}
