import Accel
import AccelByteIO
import CAccel
import Foundation
import TestSupport
import Testing

@Suite("Models and functions of C")
struct CRunTests {
    private static let output = "last_hidden_state"

    /// The outputs that Swift gives for the inputs of `CTensors.encoder()`.
    private func expected(_ tokens: [Int64] = [1, 2, 3, 4, 5]) async throws -> [Float] {
        let model = try await AccelModel(.path(try CPackages.encoder.get()), configuration: .reproducible)
        let outputs = try await model.function("model")([
            "input_ids": AccelTensor(tokens, 1, 5), "attention_mask": AccelTensor([1, 1, 1, 1, 1] as [Int64], 1, 5),
            "token_type_ids": AccelTensor([0, 0, 0, 0, 0] as [Int64], 1, 5),
        ])
        return try outputs[Self.output].array(of: Float.self)
    }

    @Test("a function of C has the bits of Swift's, in memory of the caller's and in memory that is lent")
    func sameBits() async throws {
        let expected = try await expected()
        let model = try CModel(try CPackages.encoder.get())
        let function = try model.function("model")
        let (inputs, outputs) = (CTensors.encoder(), CTensors())
        let data = outputs.add(Self.output, ACCEL_F32, [Float](repeating: -1, count: expected.count))
        var error = CError()
        #expect(
            accel_function_run(function, inputs.tensors, 3, &outputs.tensors, 1, nil, &error.parts) == 0,
            "\(error.message)")
        let numbers = UnsafeBufferPointer(start: data.assumingMemoryBound(to: Float.self), count: expected.count)
        #expect(Array(numbers) == expected)

        let session = try model.session()
        defer { accel_session_release(session) }
        var lent = accel_tensor()
        lent.struct_size = UInt32(MemoryLayout<accel_tensor>.size)
        lent.name = UnsafePointer(outputs.text(Self.output))
        for _ in 0..<3 {
            (lent.data, lent.byte_count) = (nil, 0)
            #expect(accel_session_run(session, function, inputs.tensors, 3, &lent, 1, nil, &error.parts) == 0)
            #expect(lent.byte_count == expected.count * 4 && lent.type == UInt32(ACCEL_F32) && lent.rank == 3)
            #expect(lent.shape.map { [$0[0], $0[1]] } == [1, 5])
            let found = lent.data.map {
                Array(UnsafeBufferPointer(start: $0.assumingMemoryBound(to: Float.self), count: expected.count))
            }
            #expect(found == expected)
        }
    }

    @Test("ports say what a run needs")
    func ports() throws {
        let model = try CModel(try CPackages.encoder.get())
        #expect(accel_model_function_count(model.handle) == 1)
        let function = accel_model_function_at(model.handle, 0)
        #expect(function == (try model.function("model")))
        #expect(accel_model_function_at(model.handle, 1) == nil && accel_model_function_at(model.handle, -1) == nil)
        #expect(accel_function_name(function).map { String(cString: $0) } == "model[batch=1,sequence=5]")
        #expect(accel_function_port_count(function, UInt32(ACCEL_INPUT)) == 3)
        var (port, error) = (accel_port(), CError())
        port.struct_size = UInt32(MemoryLayout<accel_port>.size)
        #expect(accel_function_port(function, UInt32(ACCEL_INPUT), 0, &port, &error.parts) == 0)
        #expect(
            port.name.map { String(cString: $0) } == "input_ids" && port.role.map { String(cString: $0) } == "tokens")
        #expect(port.type == UInt32(ACCEL_I64) && port.byte_count == 40 && port.rank == 2 && port.shape?[1] == 5)
        #expect(accel_function_port(function, UInt32(ACCEL_INPUT), 3, &port, &error.parts) == 3)
        #expect(accel_function_port(function, 3, 0, &port, &error.parts) == 2)
        let report = try JSON.parse(
            ByteView(Array(String(cString: try #require(accel_model_info_json(model.handle))).utf8)), file: "info")
        #expect(report["backend"] == "cpu" && report["functions"] == ["model[batch=1,sequence=5]"])
    }

    private struct Rejection: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let code: Int
        var expected = ""
        var found = ""
        let change: @Sendable (CTensors, CTensors) -> Void
    }

    private static let rejections = [
        Rejection(testDescription: "a byte too few", code: ACCEL_INVALID, expected: "I64[1,5]", found: "39 bytes") {
            inputs, _ in
            inputs.tensors[0].byte_count = 39
        },
        Rejection(
            testDescription: "more bytes than memory has", code: ACCEL_INVALID, expected: "I64[1,5]",
            found: "\(UInt.max) bytes"
        ) {
            inputs, _ in inputs.tensors[0].byte_count = -1
        },
        Rejection(testDescription: "another type", code: ACCEL_INVALID, expected: "I64[1,5]", found: "F64[1,5]") {
            inputs, _ in
            inputs.tensors[0].type = UInt32(ACCEL_F64)
        },
        Rejection(testDescription: "no type", code: ACCEL_INVALID, expected: "a type such as ACCEL_F32", found: "99") {
            inputs, _ in
            inputs.tensors[0].type = 99
        },
        Rejection(testDescription: "a missing input", code: ACCEL_INVALID, expected: "I64[1,5]") { inputs, _ in
            inputs.tensors.swapAt(0, 2)
            inputs.tensors[2] = inputs.tensors[1]
            inputs.tensors[2].name = inputs.tensors[0].name
            inputs.tensors.removeLast()
        },
        Rejection(testDescription: "an input twice", code: ACCEL_INVALID) { inputs, _ in
            inputs.tensors[2] = inputs.tensors[0]
        },
        Rejection(testDescription: "all inputs, and one of them again", code: ACCEL_INVALID) { inputs, _ in
            inputs.tensors.append(inputs.tensors[0])
        },
        Rejection(testDescription: "an unknown input", code: ACCEL_NOT_FOUND) { inputs, _ in
            inputs.tensors[0].name = UnsafePointer(inputs.text("inputids"))
        },
        Rejection(testDescription: "an unknown output", code: ACCEL_NOT_FOUND) { _, outputs in
            outputs.tensors[0].name = UnsafePointer(outputs.text("hidden"))
        },
        Rejection(testDescription: "no name", code: ACCEL_INVALID, expected: "a pointer", found: "NULL") { inputs, _ in
            inputs.tensors[0].name = nil
        },
        Rejection(
            testDescription: "a name that is no UTF-8", code: ACCEL_INVALID, expected: "UTF-8", found: "other bytes"
        ) {
            inputs, _ in
            let name = inputs.text("xx")
            name[0] = -1
            inputs.tensors[0].name = UnsafePointer(name)
        },
        Rejection(testDescription: "no data", code: ACCEL_INVALID, expected: "I64[1,5]", found: "NULL") { inputs, _ in
            inputs.tensors[0].data = nil
        },
        Rejection(testDescription: "data on no boundary", code: ACCEL_INVALID) { inputs, _ in
            inputs.tensors[0].data += 4
        },
        Rejection(testDescription: "a rank without a shape", code: ACCEL_INVALID, expected: "a pointer", found: "NULL")
        {
            inputs, _ in
            inputs.tensors[0].rank = 2
        },
        Rejection(testDescription: "too many dimensions", code: ACCEL_INVALID) { inputs, _ in
            inputs.tensors[0].rank = -1
        },
        Rejection(testDescription: "an output without memory", code: ACCEL_INVALID, expected: "memory", found: "NULL") {
            _, outputs in
            (outputs.tensors[0].data, outputs.tensors[0].byte_count) = (nil, 0)
        },
        Rejection(
            testDescription: "an output of fewer bytes", code: ACCEL_INVALID, expected: "720 bytes", found: "716"
        ) { _, outputs in outputs.tensors[0].byte_count -= 4 },
        Rejection(
            testDescription: "an output of more bytes", code: ACCEL_INVALID, expected: "720 bytes", found: "724"
        ) { _, outputs in outputs.tensors[0].byte_count += 4 },
        Rejection(
            testDescription: "an output of more bytes than memory has", code: ACCEL_INVALID, expected: "720 bytes",
            found: "\(UInt.max)"
        ) { _, outputs in outputs.tensors[0].byte_count = -1 },
        Rejection(testDescription: "an output of another type", code: ACCEL_INVALID) { _, outputs in
            outputs.tensors[0].type = UInt32(ACCEL_I32)
        },
        Rejection(testDescription: "no size", code: ACCEL_INVALID, expected: "the size of the struct", found: "0") {
            inputs, _ in
            inputs.tensors[0].struct_size = 0
        },
        Rejection(testDescription: "two sizes", code: ACCEL_INVALID) { inputs, _ in inputs.tensors[1].struct_size = 40
        },
        Rejection(testDescription: "tokens that the model does not have", code: ACCEL_INVALID) { inputs, _ in
            inputs.tensors[0].data.storeBytes(of: 1 << 40, as: Int64.self)
        },
    ]

    @Test("what does not fit is rejected with its place, what was expected and what was found", arguments: rejections)
    private func rejected(_ rejection: Rejection) async throws {
        let model = try CModel(try CPackages.encoder.get())
        let function = try model.function("model")
        let (inputs, outputs) = (CTensors.encoder(), CTensors())
        let count = try await expected().count
        let data = outputs.add(Self.output, ACCEL_F32, [Float](repeating: -1, count: count))
        rejection.change(inputs, outputs)
        var error = CError()
        let status = accel_function_run(
            function, inputs.tensors, inputs.tensors.count, &outputs.tensors, 1, nil, &error.parts)
        #expect(status == Int32(rejection.code) && error.code == status)
        #expect(
            !error.message.isEmpty && error.expected == rejection.expected || rejection.expected.isEmpty,
            "\(error.message)"
        )
        #expect(error.found == rejection.found || rejection.found.isEmpty, "\(error.message)")
        #expect(data.assumingMemoryBound(to: Float.self)[0] == -1, "nothing is written")
    }

    @Test("shapes of the caller's count, and those without a size are rejected")
    func shapes() async throws {
        let model = try CModel(try CPackages.encoder.get())
        let function = try model.function("model")
        let (inputs, outputs) = (CTensors.encoder(), CTensors())
        outputs.add(Self.output, ACCEL_F32, [Float](repeating: 0, count: try await expected().count))
        for (shape, status) in [
            ([1, 5], ACCEL_OK), ([5, 1], ACCEL_INVALID), ([5], ACCEL_INVALID), ([-1, -5], ACCEL_INVALID),
            ([1 << 40, 1 << 40], ACCEL_INVALID), ([1 << 62, 1], ACCEL_INVALID), ([0, 1 << 62], ACCEL_INVALID),
        ] as [([Int64], Int)] {
            shape.withUnsafeBufferPointer {
                (inputs.tensors[0].shape, inputs.tensors[0].rank) = ($0.baseAddress, $0.count)
                #expect(
                    accel_function_run(function, inputs.tensors, 3, &outputs.tensors, 1, nil, nil) == Int32(status),
                    "\(shape)")
            }
        }
        (inputs.tensors[0].shape, inputs.tensors[0].rank) = (nil, 0)
        for count in [-1, Int.min, 4097, .max] {
            #expect(accel_function_run(function, inputs.tensors, count, &outputs.tensors, 1, nil, nil) == 2)
            #expect(accel_function_run(function, inputs.tensors, 3, &outputs.tensors, count, nil, nil) == 2)
        }
        #expect(accel_function_run(function, nil, 3, &outputs.tensors, 1, nil, nil) == 2)
        #expect(accel_function_run(function, inputs.tensors, 3, nil, 1, nil, nil) == 2)
        #expect(accel_function_run(function, inputs.tensors, 3, nil, 0, nil, nil) == 0, "no output is asked for")
    }

    @Test("a model that cannot be opened says why, and gives no handle")
    func opening() throws {
        var (model, error) = (OpaquePointer(bitPattern: 7), CError())
        #expect(accel_model_open("/nowhere", nil, &model, &error.parts) == Int32(ACCEL_NOT_FOUND))
        #expect(model == nil && error.message.contains("there is no package") && error.place == "/nowhere")
        #expect(accel_model_open("key:12", nil, &model, nil) != 0)
        #expect(accel_model_open(nil, nil, &model, &error.parts) == 2 && error.place == "argument source")
        #expect(accel_model_open("/nowhere", nil, nil, &error.parts) == 2 && error.place == "argument model")
        let path = try CPackages.encoder.get()
        nonisolated(unsafe) let requested = accel_cancel_create()
        defer { accel_cancel_release(requested) }
        #expect(accel_cancel_request(requested) == 0)
        for (change, status) in [
            ({ $0.preset = 9 }, ACCEL_INVALID), ({ $0.threads = -1 }, ACCEL_INVALID),
            ({ $0.threads = .max }, ACCEL_INVALID),
            ({ $0.concurrency = -1 }, ACCEL_INVALID), ({ $0.memory_limit = 16 }, ACCEL_UNSUPPORTED),
            ({ $0.memory_limit = .max }, ACCEL_OK), ({ $0.struct_size = 8 }, ACCEL_OK),
            ({ $0.preparation_limit_ms = -1 }, ACCEL_INVALID), ({ $0.preparation_limit_ms = 600_000 }, ACCEL_OK),
            ({ $0.preparation_limit_ms = .max }, ACCEL_OK), ({ $0.flags = 4 }, ACCEL_UNSUPPORTED),
            ({ $0.flags = UInt32(ACCEL_OPEN_NO_FALLBACK) }, ACCEL_OK), ({ $0.reserved = 1 }, ACCEL_UNSUPPORTED),
            // A package without a probe.
            ({ $0.flags = UInt32(ACCEL_OPEN_PROBE) }, ACCEL_INVALID),
            // The size of the first version.
            ({ ($0.struct_size, $0.flags) = (64, 4) }, ACCEL_OK),
            ({ $0.struct_size = 7 }, ACCEL_INVALID),
            ({ $0.struct_size = .max }, ACCEL_INVALID), ({ $0.verify = { _, _, _, _ in 1 } }, ACCEL_UNTRUSTED),
            ({ $0.verify = { _, _, manifest, count in manifest == nil || count == 0 ? 1 : 0 } }, ACCEL_OK),
            ({ $0.cancel = requested }, ACCEL_CANCELLED), ({ $0.cancel = OpaquePointer(bitPattern: 1) }, ACCEL_INVALID),
        ] as [((inout accel_options) -> Void, Int)] {
            var options = accel_options()
            options.struct_size = UInt32(MemoryLayout<accel_options>.size)
            change(&options)
            #expect(accel_model_open(path, &options, &model, &error.parts) == Int32(status), "\(error.message)")
            accel_model_release(model)
        }
        for (backends, status) in [("cpu", 0), ("none", 3), ("", 3), ("reference,cpu", 0), (",", 3)]
            as [(String, Int32)]
        {
            backends.withCString {
                var options = accel_options()
                (options.struct_size, options.backends) = (UInt32(MemoryLayout<accel_options>.size), $0)
                #expect(
                    accel_model_open(path, &options, &model, &error.parts) == status, "\(backends): \(error.message)")
                accel_model_release(model)
            }
        }
    }

    @Test("a field that this version does not know has to be zero")
    func laterFields() throws {
        let size = MemoryLayout<accel_run>.size
        let later = UnsafeMutableRawBufferPointer.allocate(byteCount: size + 16, alignment: 8)
        defer { later.deallocate() }
        later.initializeMemory(as: UInt8.self, repeating: 0)
        later.storeBytes(of: UInt32(later.count), as: UInt32.self)
        let run = try #require(later.baseAddress).assumingMemoryBound(to: accel_run.self)
        let model = try CModel(try CPackages.encoder.get())
        let function = try model.function("model")
        let inputs = CTensors.encoder()
        #expect(accel_function_run(function, inputs.tensors, 3, nil, 0, run, nil) == 0)
        later[size + 3] = 1
        var error = CError()
        #expect(accel_function_run(function, inputs.tensors, 3, nil, 0, run, &error.parts) == Int32(ACCEL_UNSUPPORTED))
        // An earlier version's error has room for less of the text, and nothing beyond is written.
        var short = CError()
        short.parts.struct_size = 8 + 5
        short.parts.message.7 = 77
        #expect(accel_function_run(nil, nil, 0, nil, 0, nil, &short.parts) == 2)
        #expect(short.message == "a ha" && short.parts.message.7 == 77 && short.code == 2)
    }
}
