import TestSupport
import Testing

@testable import AccelByteIO

@Suite("Bytes that are computed when they are read")
struct DerivedBytesTests {
    /// 40 rows of 7 bytes, each its own offset, and how many rows were computed.
    private static func rows() -> (view: ByteView, computed: Locked<Int>) {
        let computed = Locked(0)
        let derived = DerivedBytes(rows: 40, rowBytes: 7) { rows, target in
            computed.withLock { $0 += rows.count }
            for (index, offset) in (rows.lowerBound * 7..<rows.upperBound * 7).enumerated() {
                target[index] = UInt8(truncatingIfNeeded: offset)
            }
        }
        return (ByteView(derived), computed)
    }

    @Test("any part has the bytes of the whole, and costs its own rows only")
    func parts() {
        let (view, computed) = Self.rows()
        let whole = view.withBytes { Array($0) }
        #expect(whole == (0..<280).map { UInt8(truncatingIfNeeded: $0) } && computed.withLock { $0 } == 40)
        for start in stride(from: 0, to: 280, by: 3) {
            for end in stride(from: start, through: 280, by: 11) {
                computed.withLock { $0 = 0 }
                #expect(view[start..<end].withBytes { Array($0) } == Array(whole[start..<end]))
                #expect(computed.withLock { $0 } == (end == start ? 0 : (end + 6) / 7 - start / 7))
                // A part of a part.
                #expect(view[start..<280][0..<end - start] == ByteView(Array(whole[start..<end])))
            }
        }
        #expect(view.resident == view && !view.resident.isDerived && view.isDerived)
    }

    @Test("nothing is computed to compare views of the same bytes, and little for others")
    func equality() {
        let (view, computed) = Self.rows()
        computed.withLock { $0 = 0 }
        #expect(view == view && view[7..<14] == view[0..<20][7..<14] && computed.withLock { $0 } == 0)
        #expect(view[0..<7] != view[7..<14])
        let large = DerivedBytes(rows: 1000, rowBytes: 1 << 12) { rows, target in
            computed.withLock { $0 += rows.count }
            target.initializeMemory(as: UInt8.self, repeating: 1)
        }
        computed.withLock { $0 = 0 }
        #expect(ByteView(large) != ByteView([UInt8](repeating: 2, count: 1000 << 12)))
        #expect(computed.withLock { $0 } < 40)
    }

    @Test("digests are those of the bytes")
    func digests() {
        let derived = DerivedBytes(rows: 3000, rowBytes: 1024) { rows, target in
            for (index, row) in rows.enumerated() {
                for byte in 0..<1024 { target[index * 1024 + byte] = UInt8(truncatingIfNeeded: row) }
            }
        }
        let view = ByteView(derived)
        #expect(TreeDigest.digest(of: view) == TreeDigest.digest(of: view.resident))
        #expect(SHA256.digest(of: view) == SHA256.digest(of: view.resident))
        let views = [view, view[5..<9]]
        #expect(SHA256.digests(of: views) == views.map { SHA256.digest(of: $0.resident) })
    }
}
