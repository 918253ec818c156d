public import AccelFormats

/// A runtime of another project that runs exported models. A runtime is a file beside this one, a line in
/// `ModelRuntimes.all`, and a program `scripts/runtimes/NAME.py`.
public struct ModelRuntime: Sendable {
    /// The form of the inputs that a runtime takes.
    enum Feed: Sendable {
        /// Whole inputs, each by itself: the tokens of one text without padding, from an empty cache.
        case wholeInputs
        /// The inputs and states of the export's functions, by name.
        case functions
    }

    /// The value of `--runtime`, and the name of its program without `.py`.
    public let name: String
    /// The name of the project, e.g. `llama.cpp`.
    public let title: String
    /// The command that installs it.
    public let installation: String
    /// The formats that it reads.
    public let formats: [any ModelFormat.Type]
    let feed: Feed
    /// Its limits when it is asked to keep activations in float32, where it would round them; nil if it cannot be asked.
    let unrounded: RuntimeRounding?
    /// Returns how it rounds activations when it runs a model.
    let rounding: @Sendable (any ModelSource) throws -> RuntimeRounding
}

/// The registry of runtimes.
public enum ModelRuntimes {
    /// All runtimes.
    public static let all: [ModelRuntime] = [.llama, .mlx, .ctranslate2, .coreai]

    /// Returns the runtime of a name; nil if there is none.
    public static func named(_ name: String) -> ModelRuntime? { all.first { $0.name == name } }
}

/// How a runtime rounds activations, and how far it may be from the reference implementation therefore. Weight-only runtimes
/// round nothing.
struct RuntimeRounding: Equatable, Sendable {
    /// The rounding in words, after "activations".
    let words: String
    /// SQNR of outputs against the reference with the stored weights, at least, in dB.
    let graph: Double
    /// SQNR of outputs against the original model, at least, in dB. What the weights lose is allowed too.
    let output: Double
    /// The arithmetic whose noise is measured where a model exceeds these limits; nil for coarser roundings.
    var arithmetic: RoundingNoise.Arithmetic?

    /// Outputs against the reference with the stored weights.
    func graphTolerance(of runtime: ModelRuntime) -> Tolerance { tolerance(graph, of: runtime) }

    /// Outputs against the original model.
    /// - Parameters:
    ///   - loss: the reference with the stored weights against the expected values; nil if the weights have no names of the model's.
    ///   - line: of the lossy scheme that loses most, where the loss is not known; nil if no weight has lost anything.
    func outputTolerance(of runtime: ModelRuntime, loss: Metrics?, weights line: SchemeTolerance?) -> Tolerance {
        let limit = tolerance(output, of: runtime)
        if let loss { return limit.allowing(loss: loss) }
        guard let line, line.output < output else { return limit }
        return .scheme(of: line)
    }

    private func tolerance(_ sqnr: Double, of runtime: ModelRuntime) -> Tolerance {
        var limit = Tolerance(sqnr: sqnr, origin: "\(runtime.title) with activations \(words)")
        limit.arithmetic = arithmetic
        return limit
    }
}
