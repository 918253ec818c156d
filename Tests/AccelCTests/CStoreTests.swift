import AccelByteIO
import AccelPackages
import AccelTensors
import CAccel
import Foundation
import TestSupport
import Testing

@Suite("Stores and backends of C")
struct CStoreTests {
    /// What the list of a store says about a model.
    private struct Listed: Equatable {
        let name: String
        let version: String
        let isTentative: Bool
        let earlier: Int
    }

    /// A store in a folder that goes with it, and packages to put there.
    // Its handle may be used by any thread.
    private final class Bench: @unchecked Sendable {
        let folder: TemporaryFolder
        var handle: OpaquePointer?

        init(_ change: (inout accel_store_options) -> Void = { _ in }) throws {
            folder = try TemporaryFolder(beside: "\(CPackages.folder)/store")
            var (options, error) = (accel_store_options(), CError())
            options.struct_size = UInt32(MemoryLayout<accel_store_options>.size)
            change(&options)
            guard accel_store_open("\(folder.path)/store", &options, &handle, &error.parts) == 0 else {
                throw CFailure(error)
            }
        }
        deinit { _ = accel_store_release(handle) }

        func package(_ model: NumberedModel) throws -> String {
            let path = "\(folder.path)/\(model.number).accelpkg"
            try model.write(to: path)
            return path
        }

        func list() -> [Listed] {
            var listed: [Listed] = []
            withUnsafeMutablePointer(to: &listed) { list in
                let status = accel_store_list(
                    handle,
                    { context, model in
                        guard let model = model?.pointee, let name = model.name, let version = model.version else {
                            return
                        }
                        context?.assumingMemoryBound(to: [Listed].self).pointee.append(
                            Listed(
                                name: String(cString: name), version: String(cString: version),
                                isTentative: model.is_tentative != 0, earlier: model.earlier_count))
                    }, list, nil)
                #expect(status == 0)
            }
            return listed
        }

        /// The number of the current version, by a run.
        func number() throws -> Int? {
            var (model, error): (OpaquePointer?, CError) = (nil, CError())
            guard accel_store_model(handle, "m", nil, &model, &error.parts) == 0 else { throw CFailure(error) }
            defer { accel_model_release(model) }
            let (inputs, outputs) = (CTensors(), CTensors())
            inputs.add("x", ACCEL_F32, NumberedModel.ones.floats())
            let made = ["first", "second"].map { outputs.add($0, ACCEL_F32, [Float](repeating: 0, count: 64)) }
            let function = accel_model_function_at(model, 0)
            guard accel_function_run(function, inputs.tensors, 1, &outputs.tensors, 2, nil, &error.parts) == 0 else {
                throw CFailure(error)
            }
            let floats = made.map {
                Array(UnsafeBufferPointer(start: $0.assumingMemoryBound(to: Float.self), count: 64))
            }
            return NumberedModel.number(of: floats[0], floats[1])
        }
    }

    @Test("calls need no thread of Swift's pool: they end while none is free")
    func withoutPool() throws {
        let bench = try Bench()
        let package = try bench.package(.init(1))
        let isOver = Locked(false)
        for _ in 0..<4 * ProcessInfo.processInfo.activeProcessorCount {
            Task.detached { while !isOver.withLock({ $0 }) { usleep(1000) } }
        }
        defer { isOver.withLock { $0 = true } }
        let (done, results) = (DispatchSemaphore(value: 0), Locked<[String]>([]))
        Thread {
            for _ in 0..<2 {
                let status = accel_store_update(bench.handle, "m", package, nil, nil)
                results.withLock { $0.append("\(status) \(bench.list().map(\.name))") }
            }
            done.signal()
        }.start()
        #expect(done.wait(timeout: .now() + 60) == .success)
        #expect(results.withLock { $0 } == ["0 [\"m\"]", "0 [\"m\"]"])
    }

    @Test("models are added, listed, run, updated, rolled back and removed")
    func life() throws {
        let bench = try Bench()
        var error = CError()
        #expect(bench.list().isEmpty)
        let seen = Locked<Set<String>>([])
        try withExtendedLifetime(seen) {
            var options = accel_options()
            options.struct_size = UInt32(MemoryLayout<accel_options>.size)
            options.context = Unmanaged.passUnretained(seen).toOpaque()
            options.progress = { context, stage, _, item in
                guard let context, let stage, let item else { return }
                Unmanaged<Locked<Set<String>>>.fromOpaque(context).takeUnretainedValue().withLock {
                    _ = $0.insert("\(String(cString: stage)) \(String(cString: item))")
                }
            }
            let path = try bench.package(NumberedModel(1))
            #expect(accel_store_update(bench.handle, "m", path, &options, &error.parts) == 0, "\(error.message)")
        }
        #expect(seen.withLock { $0.isSuperset(of: ["checking digests", "checking run"]) })
        let first = bench.list()
        #expect(first.map(\.name) == ["m"] && first[0].isTentative && first[0].earlier == 0)
        #expect(first[0].version.count == 64)
        #expect(try bench.number() == 1)
        #expect(bench.list()[0].isTentative == false)
        let second = try bench.package(NumberedModel(2))
        #expect(accel_store_update(bench.handle, "m", second, nil, &error.parts) == 0, "\(error.message)")
        #expect(bench.list()[0].earlier == 1 && bench.list()[0].version != first[0].version)
        #expect(try bench.number() == 2)
        #expect(accel_store_roll_back(bench.handle, "m", &error.parts) == 0, "\(error.message)")
        #expect(bench.list()[0].version == first[0].version)
        #expect(try bench.number() == 1)
        #expect(accel_store_roll_back(bench.handle, "m", &error.parts) == Int32(ACCEL_NOT_FOUND))
        #expect(accel_store_remove(bench.handle, "m", &error.parts) == 0 && bench.list().isEmpty)
        var model = OpaquePointer(bitPattern: 7)
        #expect(accel_store_model(bench.handle, "m", nil, &model, &error.parts) == Int32(ACCEL_NOT_FOUND))
        #expect(model == nil && error.place == "model \"m\"")
    }

    @Test("what is rejected changes nothing")
    func rejections() throws {
        let bench = try Bench { $0.byte_limit = 16 }
        let path = try bench.package(NumberedModel(1))
        var error = CError()
        #expect(accel_store_update(bench.handle, "m", path, nil, &error.parts) == Int32(ACCEL_STORAGE))
        #expect(accel_store_update(bench.handle, "m", "/nowhere", nil, &error.parts) == Int32(ACCEL_NOT_FOUND))
        #expect(accel_store_update(bench.handle, nil, path, nil, &error.parts) == 2 && error.place == "argument name")
        let roomy = try Bench()
        var options = accel_options()
        options.struct_size = UInt32(MemoryLayout<accel_options>.size)
        options.cancel = accel_cancel_create()
        defer { accel_cancel_release(options.cancel) }
        #expect(accel_cancel_request(options.cancel) == 0)
        #expect(accel_store_update(roomy.handle, "m", path, &options, &error.parts) == Int32(ACCEL_CANCELLED))
        #expect(bench.list().isEmpty && roomy.list().isEmpty)
        let failure = "phones".withCString { name in
            #expect(throws: CFailure.self) { try Bench { $0.profile = name } }
        }
        #expect(failure?.description.contains("did you mean \"phone\"?") == true)
        #expect(throws: CFailure.self) { try Bench { $0.flags = 1 } }
        #expect(throws: CFailure.self) { try Bench { $0.struct_size = 3 } }
        options.cancel = nil
        options.flags = UInt32(ACCEL_OPEN_PROBE)
        #expect(accel_store_update(roomy.handle, "m", path, &options, &error.parts) == Int32(ACCEL_UNSUPPORTED))
        #expect(error.place == "accel_options.flags")
        let unsigned = try Bench { $0.verify = { _, _, _, _ in 1 } }
        #expect(accel_store_update(unsigned.handle, "m", path, nil, &error.parts) == Int32(ACCEL_UNTRUSTED))
    }

    @Test(
        "a package that is signed for another model, or for an older version, is rejected; this one with a flag it is not"
    )
    func releases() throws {
        // The program accepts every line that states a model, and nothing else.
        let bench = try Bench {
            $0.verify = { _, _, bytes, count in
                let text = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
                return text.hasPrefix("{\"_type\":\"accelc-package-statement@v1\"") && text.hasSuffix("}\n") ? 0 : 1
            }
        }
        var error = CError()
        func package(_ number: Int, _ name: String, _ version: Int?) throws -> String {
            let path = try bench.package(NumberedModel(number))
            try Data(try Self.signature(of: path, name, version)).write(to: URL(filePath: path + ".sig"))
            return path
        }
        let second = try package(2, "m", 2)
        let first = try package(1, "m", 1)
        #expect(accel_store_update(bench.handle, "m", second, nil, &error.parts) == 0, "\(error.message)")
        #expect(accel_store_update(bench.handle, "m", first, nil, &error.parts) == Int32(ACCEL_UNTRUSTED))
        #expect(error.message.contains("version 2"), "\(error.message)")
        #expect(try bench.number() == 2)
        var options = accel_options()
        options.struct_size = UInt32(MemoryLayout<accel_options>.size)
        options.flags = UInt32(ACCEL_UPDATE_ROLLBACK)
        let other = try package(3, "other", 9)
        #expect(accel_store_update(bench.handle, "m", other, &options, &error.parts) == Int32(ACCEL_UNTRUSTED))
        #expect(accel_store_update(bench.handle, "m", first, &options, &error.parts) == 0, "\(error.message)")
        #expect(try bench.number() == 1)
        // The statement of another package.
        try FileManager.default.removeItem(atPath: other + ".sig")
        try FileManager.default.copyItem(atPath: second + ".sig", toPath: other + ".sig")
        #expect(accel_store_update(bench.handle, "m", other, nil, &error.parts) == Int32(ACCEL_UNTRUSTED))
    }

    /// A signature's file with a statement. Its armored part is well-formed, and nobody's.
    private static func signature(of path: String, _ name: String, _ version: Int?) throws -> [UInt8] {
        let package = try AcceleratorPackage(at: path)
        let sound = try #require(Attack.sshSignatures.first { $0.name == "sound" })
        let statement = try package.signedContent(for: try SignedRelease(name: name, version: version))
        return sound.bytes + statement.withBytes { Array($0) }
    }

    #if os(Linux)
        @Test("a plug-in is loaded from a library, or registered by its table; then models may run on it")
        func backends() throws {
            let folder = try TemporaryFolder(beside: "\(CPackages.folder)/plugin")
            let library = "\(folder.path)/libsum.so"
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.currentDirectoryURL = URL(filePath: Fixtures.repository)
            process.arguments = [
                "clang", "-std=c11", "-fPIC", "-shared", "-ISources/CAccelPlugin/include",
                "Tests/BackendTests/Plugins/sum_plugin.c", "-o", library,
            ]
            try process.run()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
            var error = CError()
            #expect(accel_backend_load("/nowhere.so", &error.parts) == Int32(ACCEL_NOT_FOUND))
            #expect(accel_backend_load(CPackages.folder, &error.parts) == Int32(ACCEL_NOT_FOUND))
            #expect(accel_backend_register(nil, &error.parts) == 2)
            var header: [UInt32] = [184, 99]
            #expect(accel_backend_register(&header, &error.parts) == Int32(ACCEL_UNSUPPORTED))
            #expect(error.expected == "version 1" && error.found == "version 99", "\(error.message)")
            #expect(accel_backend_load(library, &error.parts) == 0, "\(error.message)")
            let loaded = try #require(dlopen(library, RTLD_NOW))
            let entry = try #require(dlsym(loaded, "accel_plugin_entry"))
            typealias Entry = @convention(c) (UInt32) -> UnsafeRawPointer?
            let table = unsafeBitCast(entry, to: Entry.self)(1)
            #expect(accel_backend_register(table, &error.parts) == 0, "\(error.message)")
            // The plug-in runs other models: it was asked, and says so.
            let failure = "sum".withCString { name in
                #expect(throws: CFailure.self) { try CModel(try CPackages.encoder.get()) { $0.backends = name } }
            }
            #expect(failure?.description.contains("only a function called sum runs here") == true)
        }
    #endif
}
