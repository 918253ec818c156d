import AccelByteIO
import CCalls
import Foundation

extension FuzzTarget {
    /// Calls of the C interface with arguments that the bytes choose.
    static let cInterface = FuzzTarget(
        name: "c-interface",
        seeds: (0..<12).map { first in (0..<96).map { UInt8(truncatingIfNeeded: first * 17 + $0 * (first + 3)) } }
    ) { bytes in
        let calls = CCalls(bytes.withBytes { Array($0) })
        for _ in 0..<64 where calls.hasMore { calls.call() }
    }
}
