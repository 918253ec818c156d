import AccelPrograms
import AccelTensors

/// Checks that a new version runs: opens it on the backend that the app would get, and runs every function once on random inputs. No
/// output may have a number that is not finite.
public struct SeededRunCheck: UpdateCheck {
    public let name = "run"
    private let seed: UInt64
    private let timeLimit: Duration?

    /// - Parameters:
    ///   - seed: of the inputs; the same seed gives the same inputs everywhere.
    ///   - timeLimit: the time for each function; nil for no limit.
    public init(seed: UInt64 = 1, timeLimit: Duration? = nil) { (self.seed, self.timeLimit) = (seed, timeLimit) }

    public func check(_ candidate: UpdateCandidate) async throws {
        let model = try await candidate.model()
        for function in candidate.package.graph.functions {
            let inputs = SeededInputs(seed: seed).tensors(for: function)
            let outputs = try await model.makeSession().prediction(
                of: function.functionName, from: inputs, options: RunOptions(timeLimit: timeLimit))
            for (name, tensor) in outputs.tensors.sorted(by: { $0.key < $1.key }) where !tensor.isFinite {
                throw AccelError(
                    .numerics, "has a number that is not finite, for inputs of seed \(seed)",
                    at: "\(function.functionName), output \"\(name)\"")
            }
        }
    }
}

extension SeededInputs {
    /// Returns random values for all inputs of a function.
    func tensors(for function: FrozenProgram) -> AccelFunction.Inputs {
        inputs(for: function).reduce(into: [:]) { $0[$1.key] = AccelTensor($1.value.stored(name: $1.key)) }
    }
}

extension AccelTensor {
    /// Whether all elements are finite; integers are.
    fileprivate var isFinite: Bool {
        switch elementType {
        case .float32, .float16, .bfloat16: stored(name: "").floats().allSatisfy(\.isFinite)
        default: true
        }
    }
}
