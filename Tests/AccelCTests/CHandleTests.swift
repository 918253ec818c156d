import AccelByteIO
import CAccel
import TestSupport
import Testing

@Suite("Handles of C")
struct CHandleTests {
    @Test("a call that succeeds clears the error of one that failed")
    func cleared() throws {
        var (model, error): (OpaquePointer?, CError) = (nil, CError())
        #expect(accel_model_open("/nowhere", nil, &model, &error.parts) == Int32(ACCEL_NOT_FOUND))
        #expect(error.code == Int32(ACCEL_NOT_FOUND) && !error.message.isEmpty && !error.place.isEmpty)
        #expect(accel_model_open(try CPackages.encoder.get(), nil, &model, &error.parts) == 0)
        #expect(error.code == 0 && error.message.isEmpty && error.place.isEmpty)
        #expect(accel_model_release(model) == 0)
    }

    @Test("a text that is too long for its field is cut between two characters", arguments: ["", "x", "xy", "xyz"])
    func cut(_ start: String) {
        for character in ["é", "語", "😀"] {
            var (model, error): (OpaquePointer?, CError) = (nil, CError())
            let folder = String(repeating: character, count: 20)
            let path = "/\(start)" + Array(repeating: folder, count: 12).joined(separator: "/")
            #expect(accel_model_open(path, nil, &model, &error.parts) == Int32(ACCEL_NOT_FOUND))
            let place = withUnsafeBytes(of: error.parts.place) { Array($0.prefix { $0 != 0 }) }
            let text = String(validating: place, as: UTF8.self)
            #expect(text.map { path.hasPrefix($0) } == true, "\(place.suffix(4))")
            #expect(place.count > MemoryLayout.size(ofValue: error.parts.place) - 2 * character.utf8.count)
        }
    }

    /// Every function that takes a handle, on what may be none.
    private static func statuses(_ handle: OpaquePointer?, _ other: OpaquePointer?) -> [(String, Int32)] {
        var (out, port, token, summary) = (OpaquePointer(bitPattern: 7), accel_port(), Int64(0), accel_summary())
        var options = accel_generation()
        options.struct_size = UInt32(MemoryLayout<accel_generation>.size)
        var (speech, segment, transcript) = (accel_speech(), accel_segment(), accel_transcript())
        speech.struct_size = UInt32(MemoryLayout<accel_speech>.size)
        return [
            ("trim", accel_model_trim(handle)),
            ("function", accel_model_function(handle, "model", &out, nil)),
            ("port", accel_function_port(handle, 0, 0, &port, nil)),
            ("function_run", accel_function_run(handle, nil, 0, nil, 0, nil, nil)),
            ("create", accel_session_create(handle, &out, nil)),
            ("run", accel_session_run(handle, other, nil, 0, nil, 0, nil, nil)),
            ("run_async", accel_session_run_async(handle, other, nil, 0, nil, 0, nil, { _, _, _ in }, nil, nil)),
            ("reset", accel_session_reset(handle, nil)),
            ("rewind", accel_session_rewind(handle, 0, nil)),
            ("snapshot", accel_session_snapshot(handle, &out, nil)),
            ("restore", accel_session_restore(handle, other, nil)),
            ("generate", accel_session_generate(handle, &options, &out, nil)),
            ("next", accel_stream_next(handle, &token, nil)),
            ("summary", accel_stream_summary(handle, &summary, nil)),
            ("transcribe", accel_model_transcribe(handle, &speech, &out, nil)),
            ("segment", accel_transcription_next(handle, &segment, nil)),
            ("transcript", accel_transcription_summary(handle, &transcript, nil)),
            ("request", accel_cancel_request(handle)),
            ("list", accel_store_list(handle, { _, _ in }, nil, nil)),
            ("store_model", accel_store_model(handle, "m", nil, &out, nil)),
            ("update", accel_store_update(handle, "m", "/nowhere", nil, nil)),
            ("roll_back", accel_store_roll_back(handle, "m", nil)),
            ("remove", accel_store_remove(handle, "m", nil)),
        ]
    }

    private static func releases(_ handle: OpaquePointer?) -> [Int32] {
        [
            accel_model_release(handle), accel_session_release(handle), accel_stream_release(handle),
            accel_snapshot_release(handle), accel_cancel_release(handle), accel_store_release(handle),
            accel_transcription_release(handle),
        ]
    }

    @Test("NULL is rejected by every call, and released without an error, as free does")
    func null() {
        for (name, status) in Self.statuses(nil, nil) { #expect(status == Int32(ACCEL_INVALID), "\(name)") }
        #expect(Self.releases(nil) == [0, 0, 0, 0, 0, 0, 0])
        #expect(accel_model_info_json(nil) == nil && accel_model_function_count(nil) == 0)
        #expect(accel_model_function_at(nil, 0) == nil && accel_function_name(nil) == nil)
        #expect(accel_function_port_count(nil, 0) == 0 && accel_snapshot_byte_count(nil) == 0)
    }

    @Test("any number is no handle")
    func numbers() {
        var generator = SeededGenerator(seed: 3)
        var numbers: [UInt] = [1, 2, 3, 0xFF, .max, .max - 1, 1 << 63, 1 << 63 | 1]
        for kind in 0..<16 as Range<UInt> {
            numbers += [kind << 1 | 1, kind << 1 | 1 | 1 << 25, kind << 1 | 1 | 0xFFFFF << 5]
        }
        numbers += (0..<1000).map { _ in UInt.random(in: 1...UInt.max, using: &generator) }
        for number in numbers {
            let handle = OpaquePointer(bitPattern: number)
            for (name, status) in Self.statuses(handle, handle) { #expect(status == 2, "\(name) of \(number)") }
            #expect(Self.releases(handle) == [2, 2, 2, 2, 2, 2, 2], "\(number)")
        }
    }

    @Test("a handle is of one type, and none after its release, also when its place is taken again")
    func types() throws {
        let path = try CPackages.decoder.get()
        var model = try CModel(path)
        let session = try model.session()
        let cancel = accel_cancel_create()
        var (snapshot, stream, options) = (
            OpaquePointer(bitPattern: 0), OpaquePointer(bitPattern: 0), accel_generation()
        )
        #expect(accel_session_snapshot(session, &snapshot, nil) == 0)
        options.struct_size = UInt32(MemoryLayout<accel_generation>.size)
        #expect(accel_session_generate(session, &options, &stream, nil) == 0)
        let function = accel_model_function_at(model.handle, 0)
        // The calls that are right for each handle are not among these.
        let expected: [(OpaquePointer?, Set<String>)] = [
            (model.handle, ["trim", "function", "create", "transcribe"]), (function, ["port", "function_run"]),
            (session, ["run", "run_async", "reset", "rewind", "snapshot", "restore", "generate"]),
            (stream, ["next", "summary"]), (snapshot, []), (cancel, ["request"]),
        ]
        for (handle, right) in expected {
            for (name, status) in Self.statuses(handle, nil) where !right.contains(name) {
                #expect(status == Int32(ACCEL_INVALID), "\(name)")
            }
        }
        var error = CError()
        #expect(accel_session_reset(model.handle, &error.parts) == 2)
        #expect(error.expected == "an accel_session" && error.found == "an accel_model")
        let gone = [model.handle, function, session, stream, snapshot, cancel]
        // A function goes with its model; sessions keep what they need.
        let old = model
        model = try CModel(path)
        #expect(accel_model_release(old.handle) == 0 && accel_model_release(old.handle) == 2)
        #expect(accel_function_name(function) == nil)
        #expect(accel_session_reset(session, nil) == 0)
        #expect(accel_session_release(session) == 0 && accel_stream_release(stream) == 0)
        #expect(accel_snapshot_release(snapshot) == 0 && accel_cancel_release(cancel) == 0)
        let again = try (0..<8).map { _ in try model.session() }
        for handle in gone {
            #expect(!again.contains(handle))
            for (name, status) in Self.statuses(handle, handle) { #expect(status == 2, "\(name)") }
            #expect(Self.releases(handle) == [2, 2, 2, 2, 2, 2, 2])
        }
        for session in again { accel_session_release(session) }
    }

    @Test("tokens are as many as the header says, and their places are used again")
    func cancelTokens() {
        var tokens: [OpaquePointer] = []
        while let token = accel_cancel_create() { tokens.append(token) }
        // Other tests have some, too.
        #expect((65_000...65_536).contains(tokens.count))
        for token in tokens { #expect(accel_cancel_release(token) == 0) }
        let token = accel_cancel_create()
        #expect(token != nil && !tokens.contains { $0 == token })
        #expect(accel_cancel_request(token) == 0 && accel_cancel_request(token) == 0)
        #expect(accel_cancel_release(token) == 0 && accel_cancel_request(token) == 2)
    }

    @Test("every status has a text, and any other number, too")
    func texts() {
        for status in -2...20 as ClosedRange<Int32> { #expect(accel_status_text(status).map { $0[0] != 0 } == true) }
        #expect(accel_abi() == 1 && accel_version().map { String(cString: $0) }?.isEmpty == false)
    }
}
