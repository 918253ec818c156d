public import Accel
import AccelPrograms
import AccelTensors

/// What a backend was found to do otherwise than `Backend` says.
public struct ConformanceReport: Sendable {
    /// What a check is about.
    public enum Subject: String, CaseIterable, Sendable {
        /// What was assessed is so.
        case assessment
        /// Loading tells how far it is, and at last that it is ready.
        case progress
        /// The functions are the package's.
        case functions
        /// Outputs are those of the reference meaning, and of the framework.
        case outputs
        /// Runs in a sequence see what those before them left.
        case states
        /// Sessions do not see each other.
        case sessions
        /// Snapshots, and the way back to the start.
        case snapshots
        /// What does not fit is rejected with its location, and changes nothing.
        case errors
        /// A run that is to end early says so, and changes nothing.
        case cancellation
        /// A package that is not whole never reaches a backend.
        case integrity
    }
    public struct Violation: Sendable, CustomStringConvertible {
        public let subject: Subject
        public let description: String
    }

    public let backend: BackendID
    /// Checks by subject, those that failed included.
    public internal(set) var checks: [Subject: Int] = [:]
    public internal(set) var violations: [Violation] = []
    /// By the case's name: the largest difference from the reference meaning, in units of the largest number of an output.
    public internal(set) var noise: [String: Double] = [:]

    init(_ backend: BackendID) { self.backend = backend }

    mutating func check(_ subject: Subject, _ holds: Bool, _ problem: String) {
        checks[subject, default: 0] += 1
        if !holds { violations.append(Violation(subject: subject, description: "\(subject): \(problem)")) }
    }

    mutating func note(_ error: Double, in name: String) { noise[name] = max(noise[name] ?? 0, error) }
}

extension HostTensor {
    /// The largest difference in units of the largest number of `expected`; infinite where types, or what is not finite,
    /// differ. Integers and booleans are equal or not.
    func difference(from expected: HostTensor) -> Double {
        guard type == expected.type else { return .infinity }
        guard case .float32(let wanted) = expected.elements, case .float32(let found) = elements else {
            return self == expected ? 0 : .infinity
        }
        let scale = wanted.filter(\.isFinite).map { Double(abs($0)) }.max() ?? 0
        var largest = 0.0
        for (left, right) in zip(found, wanted) where left != right && !(left.isNaN && right.isNaN) {
            guard left.isFinite, right.isFinite, scale > 0 else { return .infinity }
            largest = max(largest, abs(Double(left) - Double(right)) / scale)
        }
        return largest
    }
}
