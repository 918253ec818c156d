import Accel
import CAccel
import Foundation
import TestSupport
import Testing

/// Packages that the C interface itself has made of fixtures.
enum CPackages {
    /// A folder that lives as long as the process.
    static let folder: String = {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "accelc-c-\(ProcessInfo.processInfo.processIdentifier)"
        ).path
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: CPackages.folder) }
        return folder
    }()
    /// A text encoder of 5 tokens.
    static let encoder = Result { try make("bert_base", ["batch=1,sequence=5"]) }
    /// A decoder of 4 tokens and of 1 over a cache of 16 positions.
    static let decoder = Result {
        try make("qwen3_small", ["batch=1,tokens=4,cache=16", "batch=1,tokens=1,cache=16"])
    }

    /// A recognizer of speech.
    static let recognizer = Result { try make("speech/whisper", []) }

    private static func make(_ fixture: String, _ shapes: [String]) throws -> String {
        let path = "\(folder)/\(fixture.split(separator: "/").last ?? "").accelpkg"
        let list = shapes.map { "\"\($0)\"" }.joined(separator: ",")
        let request = """
            {"model": "\(Fixtures.path(fixture))", "output": "\(path)", "compress": "float32", "shapes": [\(list)]}
            """
        var error = CError()
        guard accel_convert(request, nil, &error.parts) == 0 else { throw CFailure(error) }
        return path
    }
}

/// An error of C with its size.
struct CError {
    var parts = accel_error()
    init() { parts.struct_size = UInt32(MemoryLayout<accel_error>.size) }

    private func text<Characters>(_ field: Characters) -> String {
        withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    var code: Int32 { parts.code }
    var message: String { text(parts.message) }
    var place: String { text(parts.place) }
    var expected: String { text(parts.expected) }
    var found: String { text(parts.found) }
    var hint: String { text(parts.hint) }
}

struct CFailure: Error, CustomStringConvertible {
    let description: String
    init(_ error: CError) { description = "\(error.code): \(error.message)" }
}

/// A model that is open in C.
final class CModel {
    let handle: OpaquePointer?

    init(_ path: String, _ change: (inout accel_options) -> Void = { _ in }) throws {
        var options = accel_options()
        options.struct_size = UInt32(MemoryLayout<accel_options>.size)
        options.preset = UInt32(ACCEL_PRESET_REPRODUCIBLE)
        change(&options)
        var (model, error): (OpaquePointer?, CError) = (nil, CError())
        guard accel_model_open(path, &options, &model, &error.parts) == 0 else { throw CFailure(error) }
        handle = model
    }
    deinit { _ = accel_model_release(handle) }

    func function(_ name: String) throws -> OpaquePointer? {
        var (function, error): (OpaquePointer?, CError) = (nil, CError())
        guard accel_model_function(handle, name, &function, &error.parts) == 0 else { throw CFailure(error) }
        return function
    }

    func session() throws -> OpaquePointer? {
        var (session, error): (OpaquePointer?, CError) = (nil, CError())
        guard accel_session_create(handle, &session, &error.parts) == 0 else { throw CFailure(error) }
        return session
    }
}

/// Tensors of C over arrays that live as long.
final class CTensors {
    var tensors: [accel_tensor] = []
    private var blocks: [UnsafeMutableRawPointer] = []
    deinit { blocks.forEach { $0.deallocate() } }

    /// Adds a tensor of a copy of the elements.
    @discardableResult
    func add<Element>(_ name: String, _ type: Int, _ elements: [Element]) -> UnsafeMutableRawPointer {
        let byteCount = elements.count * MemoryLayout<Element>.stride
        let data = UnsafeMutableRawPointer.allocate(byteCount: max(byteCount, 1), alignment: 64)
        elements.withUnsafeBytes {
            if let start = $0.baseAddress { data.copyMemory(from: start, byteCount: byteCount) }
        }
        var tensor = accel_tensor()
        tensor.struct_size = UInt32(MemoryLayout<accel_tensor>.size)
        tensor.type = UInt32(type)
        tensor.name = UnsafePointer(text(name))
        (tensor.data, tensor.byte_count) = (data, byteCount)
        tensors.append(tensor)
        blocks.append(data)
        return data
    }

    func text(_ text: String) -> UnsafeMutablePointer<CChar> {
        let bytes = Array(text.utf8) + [0]
        let block = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 1)
        block.copyMemory(from: bytes, byteCount: bytes.count)
        blocks.append(block)
        return block.assumingMemoryBound(to: CChar.self)
    }

    /// The inputs of the encoder.
    static func encoder(_ tokens: [Int64] = [1, 2, 3, 4, 5]) -> CTensors {
        let made = CTensors()
        made.add("input_ids", ACCEL_I64, tokens)
        made.add("attention_mask", ACCEL_I64, [Int64](repeating: 1, count: tokens.count))
        made.add("token_type_ids", ACCEL_I64, [Int64](repeating: 0, count: tokens.count))
        return made
    }
}
