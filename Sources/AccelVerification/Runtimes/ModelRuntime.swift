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
    /// SQNR of outputs against the original model, at least, in dB. The limits of the weights' schemes hold too.
    let output: Double

    /// Outputs against the reference with the stored weights.
    func graphTolerance(of runtime: ModelRuntime) -> Tolerance {
        Tolerance(sqnr: graph, origin: "\(runtime.title) with activations \(words)")
    }

    /// Outputs against the original model: the weaker of the rounding's limit and that of the weights.
    /// - Parameter line: of the lossy scheme that loses most; nil if no weight has lost anything.
    func outputTolerance(of runtime: ModelRuntime, weights line: SchemeTolerance?) -> Tolerance {
        guard let line, line.output < output else {
            return Tolerance(sqnr: output, origin: "\(runtime.title) with activations \(words)")
        }
        return Tolerance(sqnr: line.output, origin: "the default for weights in \(line.scheme)")
    }
}
