import CAccelKernels
import TestSupport
import Testing

/// The kernels' instruction set is a global switch, so all tests that turn it are members of this serialized suite.
@Suite(.serialized) enum Kernels {
    /// The sets that this processor has, the scalar forms first.
    static let sets: [ck_isa] = {
        defer { _ = ck_limit_isa(CK_AMX) }
        let all = (CK_SCALAR.rawValue...CK_AMX.rawValue).map(ck_isa.init(rawValue:))
        return all.filter { ck_limit_isa($0) == $0 }
    }()

    /// The result of `body` on each set that the processor has; the first is the scalar forms'.
    static func onEachSet<Result>(_ body: () -> Result) -> [Result] {
        defer { _ = ck_limit_isa(CK_AMX) }
        return sets.map { set in
            _ = ck_limit_isa(set)
            return body()
        }
    }
}

extension Array where Element: Equatable {
    /// Whether every set's result equals the scalar forms'.
    var agree: Bool { allSatisfy { $0 == self[0] } }
}

/// Sizes around the vector widths, and a few long ones.
let oddSizes = Array(0...35) + [47, 63, 64, 65, 127, 128, 129, 255, 257, 1000]

extension SeededGenerator {
    mutating func floats(_ count: Int, in range: ClosedRange<Float> = -1...1) -> [Float] {
        (0..<count).map { _ in Float.random(in: range, using: &self) }
    }
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}

/// Distance in units of the last place that a float32 near `exact` has.
func ulps(_ value: Float, from exact: Double) -> Double {
    if Float(exact) == value { return 0 }
    let size = max(abs(Float(exact)), Float.leastNormalMagnitude)
    return abs(Double(value) - exact) / Double(size.ulp)
}
