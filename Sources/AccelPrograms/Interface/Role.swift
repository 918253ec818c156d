/// The meaning of a port of a function: an input, an output, or a state. A family declares it where it builds a
/// program; all code that depends on the meaning of a port asks for its role, never for its name.
///
///     let tokens = builder.input("input_ids", type, .tokens(vocabulary: 30_522))
public struct Role: Hashable, Sendable, CustomStringConvertible {
    /// A parameter of a role, which a caller needs to make or to read the tensor.
    public enum Parameter: Hashable, Sendable {
        /// A whole number that is not negative.
        case integer(Int)
        /// A list of floating-point numbers.
        case numbers([Double])
        /// A string.
        case word(String)
    }

    /// The role without its parameters.
    public let kind: RoleKind
    /// The parameters by name; `RoleRule` lists the names for each kind.
    public let parameters: [String: Parameter]

    /// Creates a role. `Interface.check(_:isLater:)` compares the parameters with the rule of the kind.
    public init(_ kind: RoleKind, _ parameters: [String: Parameter] = [:]) {
        self.kind = kind
        self.parameters = parameters
    }

    /// Returns an integer parameter; nil if the role has none of this name.
    public func integer(_ name: String) -> Int? {
        if case .integer(let integer)? = parameters[name] { integer } else { nil }
    }

    /// Returns a string parameter; nil if the role has none of this name.
    public func word(_ name: String) -> String? {
        if case .word(let word)? = parameters[name] { word } else { nil }
    }

    /// e.g. `tokens, vocabulary 30522`
    public var description: String {
        ([kind.rawValue] + parameters.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
            .joined(separator: ", ")
    }

    /// Returns the role with only the parameters that are equal in all of `others`; nil if a kind differs.
    public func common(with others: [Role]) -> Role? {
        guard others.allSatisfy({ $0.kind == kind }) else { return nil }
        return Role(
            kind,
            parameters.filter { parameter in
                others.allSatisfy { $0.parameters[parameter.key] == parameter.value }
            })
    }
}

extension Role.Parameter: CustomStringConvertible {
    public var description: String {
        switch self {
        case .integer(let integer): "\(integer)"
        case .numbers(let numbers): numbers.map { "\($0)" }.joined(separator: " ")
        case .word(let word): word
        }
    }
}

/// The kind of a role, without its parameters. It is a structure, not an enumeration, so that a later kind breaks no
/// `switch`.
public struct RoleKind: RawRepresentable, Hashable, Sendable {
    /// The name in manifests, such as `attention-mask`.
    public let rawValue: String
    /// Creates a kind by its name; `RoleRule.all` lists the kinds that this version knows.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Unknown: the port belongs to a model that no family built.
    public static let opaque = RoleKind(rawValue: "opaque")

    /// Token identifiers.
    public static let tokens = RoleKind(rawValue: "tokens")
    /// The position of a block's first token in its sequence, from 0.
    public static let position = RoleKind(rawValue: "position")
    /// The positions that take part in attention.
    public static let attentionMask = RoleKind(rawValue: "attention-mask")
    /// The segment of each token.
    public static let tokenTypes = RoleKind(rawValue: "token-types")
    /// Images.
    public static let pixels = RoleKind(rawValue: "pixels")
    /// Audio samples from -1 to 1.
    public static let audio = RoleKind(rawValue: "audio")
    /// Logarithms of mel band energies.
    public static let melFeatures = RoleKind(rawValue: "log-mel")
    /// Random numbers that the caller draws.
    public static let noise = RoleKind(rawValue: "noise")
    /// Indices into the codebooks of an audio codec.
    public static let codes = RoleKind(rawValue: "codes")
    /// The number of valid elements of another input, counted from its start.
    public static let validLength = RoleKind(rawValue: "valid-length")
    /// A speaker embedding.
    public static let style = RoleKind(rawValue: "style")
    /// The pitch of speech over time, in Hz.
    public static let pitch = RoleKind(rawValue: "pitch")
    /// The loudness of speech over time.
    public static let energy = RoleKind(rawValue: "energy")

    /// Scores before a softmax.
    public static let logits = RoleKind(rawValue: "logits")
    /// One vector per position.
    public static let hiddenStates = RoleKind(rawValue: "hidden-states")
    /// One vector per input, of the model's width.
    public static let pooled = RoleKind(rawValue: "pooled")
    /// One vector per input, to be compared with others.
    public static let embedding = RoleKind(rawValue: "embedding")
    /// Probabilities from 0 to 1.
    public static let probabilities = RoleKind(rawValue: "probabilities")
    /// Scores before a softmax, by which the tokens of a text attend to an encoder's hidden states: F32[batch, heads, tokens, states].
    public static let alignment = RoleKind(rawValue: "alignment")
    /// Magnitudes and phases of a short-time Fourier transform.
    public static let spectrum = RoleKind(rawValue: "spectrum")
    /// Intermediate values for another function of the model.
    public static let features = RoleKind(rawValue: "features")

    /// Keys or values of earlier positions, which a decoder reads and extends.
    public static let keyValueCache = RoleKind(rawValue: "key-value-cache")
    /// Keys or values of an encoder's states, which one function computes and a decoder reads.
    public static let crossAttention = RoleKind(rawValue: "cross-attention")
    /// Whether the tensor holds keys or values of attention.
    var isOfKeysAndValues: Bool { self == .keyValueCache || self == .crossAttention }

    /// The state of a recurrent layer.
    public static let recurrent = RoleKind(rawValue: "recurrent")
}
