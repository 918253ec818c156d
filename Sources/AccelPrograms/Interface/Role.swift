/// What a port of a function means: an input, an output, or a state. A family declares it where it builds a program;
/// everything that needs to know what a port is asks for its role, and nothing goes by names.
///
///     let tokens = builder.input("input_ids", type, .tokens(vocabulary: 30_522))
public struct Role: Hashable, Sendable, CustomStringConvertible {
    /// A parameter of a role: what a caller has to know to make or read the tensor.
    public enum Parameter: Hashable, Sendable {
        case integer(Int)
        case numbers([Double])
        case word(String)
    }

    public let kind: RoleKind
    /// By name; `RoleRule` lists those that a kind has.
    public let parameters: [String: Parameter]

    public init(_ kind: RoleKind, _ parameters: [String: Parameter] = [:]) {
        self.kind = kind
        self.parameters = parameters
    }

    /// A whole number, nil where the role has no such parameter.
    public func integer(_ name: String) -> Int? {
        if case .integer(let integer)? = parameters[name] { integer } else { nil }
    }

    /// A word, nil where the role has no such parameter.
    public func word(_ name: String) -> String? {
        if case .word(let word)? = parameters[name] { word } else { nil }
    }

    /// e.g. `tokens, vocabulary 30522`
    public var description: String {
        ([kind.rawValue] + parameters.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
            .joined(separator: ", ")
    }

    /// With the parameters only that all of `others` have with the same value; nil where they are of other kinds.
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

/// The name of a role without its parameters. A structure and not an enumeration, so that a later kind breaks no `switch`.
public struct RoleKind: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nothing is known of the port: it belongs to a model that no family has built.
    public static let opaque = RoleKind(rawValue: "opaque")

    /// Numbers of tokens.
    public static let tokens = RoleKind(rawValue: "tokens")
    /// Where the first token of a block stands in its sequence, from 0.
    public static let position = RoleKind(rawValue: "position")
    /// Which positions count.
    public static let attentionMask = RoleKind(rawValue: "attention-mask")
    /// Which segment a token is of.
    public static let tokenTypes = RoleKind(rawValue: "token-types")
    /// Images.
    public static let pixels = RoleKind(rawValue: "pixels")
    /// Samples of sound, from -1 to 1.
    public static let audio = RoleKind(rawValue: "audio")
    /// Logarithms of mel bands.
    public static let melFeatures = RoleKind(rawValue: "log-mel")
    /// Random numbers, which the caller draws.
    public static let noise = RoleKind(rawValue: "noise")
    /// Numbers of vectors in the code book of an audio codec.
    public static let codes = RoleKind(rawValue: "codes")
    /// How much of another input counts, from its start.
    public static let validLength = RoleKind(rawValue: "valid-length")
    /// The vector of a speaker.
    public static let style = RoleKind(rawValue: "style")
    /// The pitch of speech over time, in Hz.
    public static let pitch = RoleKind(rawValue: "pitch")
    /// The loudness of speech over time.
    public static let energy = RoleKind(rawValue: "energy")

    /// Scores before a softmax.
    public static let logits = RoleKind(rawValue: "logits")
    /// A vector for each position.
    public static let hiddenStates = RoleKind(rawValue: "hidden-states")
    /// A vector for the whole input, of the model's width.
    public static let pooled = RoleKind(rawValue: "pooled")
    /// A vector for the whole input, to compare with others.
    public static let embedding = RoleKind(rawValue: "embedding")
    /// Numbers from 0 to 1.
    public static let probabilities = RoleKind(rawValue: "probabilities")
    /// Magnitudes and angles of a short-time Fourier transform.
    public static let spectrum = RoleKind(rawValue: "spectrum")
    /// Intermediate values that only other functions of the model understand.
    public static let features = RoleKind(rawValue: "features")

    /// Keys or values of the positions before, which a decoder reads and extends.
    public static let keyValueCache = RoleKind(rawValue: "key-value-cache")
    /// Keys or values of an encoder's states, which one function makes and a decoder reads.
    public static let crossAttention = RoleKind(rawValue: "cross-attention")
    /// What a recurrent layer hands on.
    public static let recurrent = RoleKind(rawValue: "recurrent")
}
