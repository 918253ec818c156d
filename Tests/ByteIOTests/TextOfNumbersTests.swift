import AccelByteIO
import Foundation
import TestSupport
import Testing

@Suite("Numbers and times as text")
struct TextOfNumbersTests {
    @Test("decimals are as the C library and Foundation write them")
    func decimals() {
        var generator = SeededGenerator(seed: 5)
        let special = [
            0, -0.0, 0.5, 1.5, 2.675, 1e308, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity, 0.999_95,
        ]
        let drawn = (0..<300).map { _ in Double(bitPattern: .random(in: .min ... .max, using: &generator)) }
        for value in special + drawn.filter({ !$0.isNaN }) {
            for digits in [0, 1, 2, 6, 17] {
                #expect(NumberText.fixed(value, digits: digits) == String(format: "%.\(digits)f", value))
                #expect(NumberText.scientific(value, digits: digits) == String(format: "%.\(digits)e", value))
            }
        }
    }

    @Test("times are as Foundation writes them")
    func times() {
        for seconds in [0, 1, 951_782_400, 1_582_934_399, 1_767_225_600, 4_102_444_799] as [Int64] {
            let date = Date(timeIntervalSince1970: Double(seconds))
            #expect(WallClock.text(seconds * 1_000_000_000 + 999) == date.ISO8601Format())
        }
        #expect(abs(Double(WallClock.nanoseconds) / 1e9 - Date().timeIntervalSince1970) < 60)
    }

    @Test("the environment is what Foundation reads")
    func environment() {
        #expect(ProcessEnvironment.all == ProcessInfo.processInfo.environment)
        #expect(ProcessEnvironment.value("PATH") == ProcessInfo.processInfo.environment["PATH"])
        #expect(ProcessEnvironment.value("ACCELC_NO_SUCH_VARIABLE") == nil)
    }

    @Test("a path from the root")
    func absolutePaths() {
        let folder = FileManager.default.currentDirectoryPath
        #expect(Files.absolutePath(of: "a/./b//c/") == "\(folder)/a/b/c")
        #expect(Files.absolutePath(of: "/a/../b") == "/a/../b")
        #expect(Files.absolutePath(of: ".") == folder)
        #expect(Files.absolutePath(of: "/") == "/")
    }
}
