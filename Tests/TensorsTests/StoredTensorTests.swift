import AccelByteIO
import Foundation
import TestSupport
import Testing

@testable import AccelTensors

@Suite("reading stored elements")
struct StoredTensorTests {
    /// Bytes of one element of each type, with the values that they stand for.
    static let elements: [(type: ElementType, bytes: [UInt8], value: Double)] = [
        (.float64, [0, 0, 0, 0, 0, 0, 0xF8, 0x3F], 1.5), (.float32, [0, 0, 0x20, 0xC0], -2.5),
        (.float16, [0x00, 0x3C], 1), (.float16, [0x01, 0x00], 0x1p-24), (.float16, [0xFF, 0x7B], 65504),
        (.bfloat16, [0xC0, 0x3F], 1.5), (.float8e4m3, [0x38], 1), (.float8e4m3, [0x7E], 448),
        (.float8e4m3, [0x01], 0x1p-9), (.float8e4m3, [0xB8], -1), (.float8e5m2, [0x3C], 1),
        (.float8e5m2, [0x7B], 57344),
        (.float8e5m2, [0x01], 0x1p-16), (.float8e5m2, [0xFC], -.infinity),
        (.int64, [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], -2), (.int32, [0, 0, 0, 0x80], -2_147_483_648),
        (.int16, [0, 0x80], -32768), (.int8, [0x80], -128),
        (.uint64, [0, 0, 0, 0, 0, 0, 0, 0x80], 9_223_372_036_854_775_808), (.uint32, [0, 0, 0, 0x80], 2_147_483_648),
        (.uint16, [0, 0x80], 32768), (.uint8, [0x80], 128), (.bool, [1], 1), (.bool, [0], 0),
    ]

    @Test("every element type is read, at aligned and odd places", arguments: elements.indices, [0, 1])
    func values(row: Int, shift: Int) {
        let (type, bytes, value) = Self.elements[row]
        let view = ByteView([UInt8](repeating: 0xAA, count: shift) + bytes + bytes + bytes)
        let tensor = StoredTensor(name: "x", elementType: type, shape: [3], bytes: view[shift..<view.count])
        #expect(tensor.floats() == [Float](repeating: Float(value), count: 3))
        #expect(tensor.doubles() == [Double](repeating: value, count: 3))
        if !type.isFloatingPoint {
            #expect(tensor.integers() == [Int64](repeating: Int64(clamping: Int128(value)), count: 3))
        }
        var part = [Float](repeating: 0, count: 1)
        part.withUnsafeMutableBufferPointer { tensor.readFloats(2..<3, into: $0) }
        #expect(part == [Float(value)])
    }

    @Test("there is a row for every element type")
    func complete() {
        #expect(Set(Self.elements.map(\.type)) == Set(ElementType.allCases))
    }

    @Test("8-bit floats have the not-a-numbers of their formats and rise with their codes")
    func float8() {
        #expect(Float8.e4m3.values.indices.filter { Float8.e4m3.values[$0].isNaN } == [0x7F, 0xFF])
        #expect(
            Float8.e5m2.values.indices.filter { Float8.e5m2.values[$0].isNaN } == [0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF])
        #expect(zip(Float8.e4m3.values[..<0x7F], Float8.e4m3.values[1..<0x7F]).allSatisfy { $0 < $1 })
        #expect(zip(Float8.e5m2.values[..<0x7D], Float8.e5m2.values[1..<0x7D]).allSatisfy { $0 < $1 })
    }

    @Test("float64 rounds to the nearest float32")
    func rounding() {
        let values = [1 + 0x1p-24, 1 + 0x1.8p-23, 1e300, .nan]
        let tensor = StoredTensor(name: "x", elementType: .float64, shape: [4], bytes: ByteView(values))
        #expect(tensor.floats()[..<3] == [1, 1 + 0x1p-22, .infinity])
        #expect(tensor.floats()[3].isNaN)
    }

    @Test("shapes count their elements, and say when they cannot")
    func shapes() {
        #expect(Shape([2, 3, 4]).strides == [12, 4, 1])
        #expect(Shape([]).checkedCount == 1)
        #expect(Shape([0, 5]).checkedCount == 0)
        #expect(Shape([-1]).checkedCount == nil)
        #expect(Shape([0, Int.max, 2]).checkedCount == nil)
        #expect(Shape([1 << 32, 1 << 31]).checkedCount == nil)
    }

    @Test(
        "a tree digest does not depend on the number of threads",
        arguments: [0, 1, TreeDigest.chunkBytes, TreeDigest.chunkBytes * 3 + 5, TreeDigest.chunkBytes * 19 + 64])
    func treeDigest(count: Int) throws {
        var bytes = [UInt8](repeating: 7, count: count)
        for (number, start) in stride(from: 0, to: count, by: TreeDigest.chunkBytes).enumerated() {
            bytes[start] = UInt8(number)
        }
        let view = ByteView(bytes)
        let chunks = stride(from: 0, to: count, by: TreeDigest.chunkBytes).map { start in
            SHA256.digest(of: view[start..<min(start + TreeDigest.chunkBytes, count)]).bytes
        }
        let expected = SHA256.digest(of: ByteView(chunks.flatMap { $0 }))
        #expect(TreeDigest.digest(of: view) == expected)
        for threads in [1, 2, 5] {
            #expect(try TreeDigest.digest(of: view, threads: threads) == expected)
            let views = [view, ByteView([UInt8(1)]), ByteView([UInt8]()), view]
            #expect(try TreeDigest.digests(of: views, threads: threads) == views.map(TreeDigest.digest))
        }
    }
}

@Suite("writing safetensors files")
struct SafetensorsWriterTests {
    @Test("tensors of every element type, in parts, read back equal with their metadata")
    func parts() throws {
        try withTemporaryFolder { folder in
            let path = "\(folder)/a.safetensors"
            let entries = ElementType.allCases.map {
                SafetensorsWriter.Entry(name: "\($0) \"ü\"\n\\".replacing("\n", with: ""), elementType: $0, shape: [5])
            }
            var writer = try SafetensorsWriter(
                replacing: path, as: .part, entries: entries, metadata: [("b", "1\n"), ("a", "ü")])
            for entry in entries {
                for byte in 0..<5 * entry.elementType.byteCount {
                    try ByteView([UInt8(byte)]).withBytes { try writer.append($0) }
                }
            }
            try writer.finish()
            let file = try SafetensorsFile(path)
            #expect(file.tensors.map(\.name) == entries.map(\.name))
            #expect(file.tensors.allSatisfy { $0.bytes == ByteView((0..<$0.bytes.count).map { UInt8($0) }) })
            #expect(file.metadata.map(\.key) == ["b", "a"] && file.metadata.map(\.value) == ["1\n", "ü"])
        }
    }

    @Test("too few or too many bytes leave no file")
    func mismatch() throws {
        try withTemporaryFolder { folder in
            let entry = SafetensorsWriter.Entry(name: "a", elementType: .float32, shape: [2])
            for count in [0, 4, 12] {
                let error = #expect(throws: RequestError.self) {
                    var writer = try SafetensorsWriter(replacing: "\(folder)/a", as: .part, entries: [entry])
                    try ByteView([UInt8](repeating: 0, count: count)).withBytes { try writer.append($0) }
                    try writer.finish()
                }
                #expect(error?.description.contains(count < 8 ? "\"a\" are missing" : "more bytes") == true)
            }
            let left = try Files.list(folder)
            #expect(left.isEmpty)
        }
    }

    @Test(
        "entries that no reader takes are rejected",
        arguments: [
            ("a", "a", [1]), ("", "b", [1]), ("__metadata__", "b", [1]), ("a\n", "b", [1]),
            ("a", "b", [1, 1, 1, 1, 1, 1, 1, 1, 1]), ("a", "b", [1 << 62, 4]), ("a", "b", [1 << 60]), ("a", "b", [-1]),
        ] as [(String, String, Shape)])
    func rejected(first: String, second: String, shape: Shape) throws {
        try withTemporaryFolder { folder in
            #expect(throws: RequestError.self) {
                _ = try SafetensorsWriter(
                    replacing: "\(folder)/a", as: .part,
                    entries: [first, second].map { .init(name: $0, elementType: .float32, shape: shape) })
            }
        }
    }
}
