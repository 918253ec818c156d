import AccelByteIO
import AccelCPURuntime
import AccelFrontEnds
import AccelPrograms
import AccelTensors
import AccelText

/// The functions of a model that take whole texts: tokens, a mask of them and the texts' numbers, and nothing else.
struct TextFunctions: Sendable {
    /// A function for `batch` texts of at most `length` tokens.
    struct Function: Sendable {
        let description: FunctionDescription
        let batch, length: Int
        let tokens: FunctionDescription.Port
        let mask, types: FunctionDescription.Port?
    }
    let functions: [Function]
    private let frontEnd: TextFrontEnd
    private let model: AccelModel
    private let padding: TokenID

    /// - Throws: `AccelError` (unsupported) if no function takes texts and has an output of one of the kinds.
    init(_ model: AccelModel, outputs kinds: Set<RoleKind>, for purpose: String) throws(AccelError) {
        self.model = model
        frontEnd = try model.text()
        functions = model.functions.compactMap(Function.init)
            .filter { $0.description.outputs.contains { kinds.contains($0.role.kind) } }
            .sorted { ($0.length, $0.batch) < ($1.length, $1.batch) }
        guard !functions.isEmpty else {
            throw AccelError(
                .unsupported, "no function takes the tokens of a whole text and returns \(purpose)",
                at: model.package.path)
        }
        padding = frontEnd.specialToken("pad_token").flatMap(frontEnd.tokenizer.tokenID) ?? 0
    }

    /// The tokens of a text, or of two texts that are compared.
    /// - Parameters:
    ///   - truncates: a text that is too long loses its end; otherwise it is an error.
    ///   - number: that of the text among several, from 1, for errors.
    func encoding(
        of text: String, with second: String? = nil, truncates: Bool, number: Int = 1
    ) throws(AccelError) -> (encoding: Encoding, lost: Int) {
        do {
            let limit = min(functions[functions.count - 1].length, frontEnd.longestText ?? .max)
            let (encoding, lost) = try frontEnd.encoding(of: text, with: second, limit: limit)
            guard truncates || lost == 0 else {
                throw AccelError(
                    .invalid,
                    "\(Self.beginning(of: text)) has \(encoding.ids.count + lost) tokens, and the model takes \(limit)",
                    at: "text \(number)")
            }
            return (encoding, lost)
        } catch { throw AccelError(error, at: "text \(number)") }
    }

    private static func beginning(of text: String) -> String {
        let beginning = text.prefix(40)
        return "\"\(beginning)\(beginning.endIndex < text.endIndex ? "..." : "")\""
    }

    /// Runs texts together, as many at a time as there are rows. `body` gets the outputs, the row of a text in them, and its index.
    func run(
        _ encodings: [Encoding], until deadline: Deadline = Deadline(),
        _ body: (Function, Outputs, _ row: Int, _ index: Int) throws(AccelError) -> Void
    ) async throws(AccelError) {
        // The shortest texts first, so that those of a run are of about one length.
        var waiting = encodings.indices.sorted { encodings[$0].ids.count < encodings[$1].ids.count }[...]
        let rows = functions.map(\.batch).max() ?? 1
        while let first = waiting.first {
            // The shortest functions that take the first text, and of those the one with the most rows that are filled.
            let count = encodings[first].ids.count
            guard let length = functions.first(where: { $0.length >= count })?.length else {
                throw AccelError(
                    .invalid, "the text has \(count) tokens, and the model takes \(functions.last?.length ?? 0)",
                    at: model.package.path)
            }
            let fitting = waiting.prefix(rows).prefix { encodings[$0].ids.count <= length }
            let candidates = functions.filter { $0.length == length }
            let function = candidates.last { $0.batch <= fitting.count } ?? candidates[0]
            let taken = Array(fitting.prefix(function.batch))
            let outputs = try await model.function(function.description.name).prediction(
                from: try inputs(taken.map { encodings[$0] }, for: function),
                options: RunOptions(timeLimit: deadline.left))
            for (row, index) in taken.enumerated() { try body(function, outputs, row, index) }
            waiting = waiting.dropFirst(taken.count)
        }
    }

    /// Rows without a text hold the first one again.
    private func inputs(_ rows: [Encoding], for function: Function) throws(AccelError) -> AccelFunction.Inputs {
        var inputs: AccelFunction.Inputs = [:]
        func add(_ port: FunctionDescription.Port?, _ value: (Encoding, Int) -> Int64) throws(AccelError) {
            guard let port else { return }
            let numbers = (0..<function.batch).flatMap { row -> [Int64] in
                let encoding = row < rows.count ? rows[row] : rows[0]
                return (0..<function.length).map { value(encoding, $0) }
            }
            inputs[port.name] = try AccelTensor(numbers, function.batch, function.length)
        }
        let padding = Int64(padding)
        try add(function.tokens) { $1 < $0.ids.count ? Int64($0.ids[$1]) : padding }
        try add(function.mask) { $1 < $0.ids.count ? 1 : 0 }
        try add(function.types) { $1 < $0.typeIDs.count ? Int64($0.typeIDs[$1]) : 0 }
        return inputs
    }
}

extension TextFunctions.Function {
    fileprivate init?(_ function: FunctionDescription) {
        guard let tokens = function.input(.tokens), tokens.shape.rank == 2, function.states.isEmpty else { return nil }
        (mask, types) = (function.input(.attentionMask), function.input(.tokenTypes))
        // Without a mask padding would take part in attention.
        guard mask != nil else { return nil }
        let ports = [tokens] + [mask, types].compactMap(\.self)
        guard ports.count == function.inputs.count,
            ports.allSatisfy({ $0.elementType == .int64 && $0.shape == tokens.shape })
        else { return nil }
        (description, self.tokens) = (function, tokens)
        (batch, length) = (tokens.shape.dimensions[0], tokens.shape.dimensions[1])
    }
}
