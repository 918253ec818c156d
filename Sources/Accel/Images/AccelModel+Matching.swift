import AccelByteIO
import AccelFrontEnds
public import AccelImages
import AccelPlatform
import AccelPrograms
import AccelText

extension AccelModel {
    /// Returns how well texts fit each picture, the best text first, by a model such as CLIP or SigLIP with its part `model`. CLIP's scores are
    /// probabilities of the texts, which add up to 1; SigLIP's are the probability of each text by itself.
    ///
    ///     let texts = ["a photo of a cat", "a photo of a dog"]
    ///     let best = try await model.match([try Picture(contentsOf: path)], with: texts)[0][0]
    ///
    /// - Parameter truncates: texts that are too long lose their end; otherwise they are an error.
    /// - Throws: `AccelError`: (unsupported) if no function compares pictures with texts, or the package has no tokenizer or does not state how
    ///   pixels are made; (invalid) for a text that is too long, and a picture that cannot be resized; (corrupt), (cancelled); and the backend's.
    public func match(
        _ pictures: [Picture], with texts: [String], truncates: Bool = false
    ) async throws(AccelError) -> [[ScoredLabel]] {
        let functions = try MatchFunctions(self)
        let calls = try functions.calls(for: texts, truncates: truncates)
        var results: [[ScoredLabel]] = []
        for picture in pictures {
            let logits = try await functions.logits(of: picture, calls)
            let scores =
                functions.areIndependent ? logits.map { Float(1 / (1 + exp(-Double($0)))) } : softmax(logits[...])
            let ranked = zip(texts, scores).map { ScoredLabel(label: $0, score: $1) }
            results.append(ranked.sorted { $0.score > $1.score })
        }
        return results
    }
}

/// The functions of a model that compare pictures with texts.
private struct MatchFunctions {
    /// A function of a picture and some texts.
    fileprivate struct Function {
        let name: String
        /// F32[pictures, 3, height, width], and I64[texts, length].
        let pixels, tokens: FunctionDescription.Port
        let mask: FunctionDescription.Port?
        /// F32[pictures, texts].
        let logits: FunctionDescription.Port
        var texts: Int { tokens.shape.dimensions[0] }
        var length: Int { tokens.shape.dimensions[1] }

        init?(_ function: FunctionDescription) {
            guard function.role == .match, function.states.isEmpty, let pixels = function.input(.pixels),
                pixels.elementType == .float32, pixels.shape.rank == 4, pixels.shape.dimensions[1] == 3,
                let tokens = function.input(.tokens), tokens.elementType == .int64, tokens.shape.rank == 2,
                let logits = function.output(.logits),
                logits.shape.dimensions == [pixels.shape.dimensions[0], tokens.shape.dimensions[0]],
                logits.shape.count > 0
            else { return nil }
            mask = function.input(.attentionMask)
            guard function.inputs.count == (mask == nil ? 2 : 3), mask.map({ $0.shape == tokens.shape }) ?? true else {
                return nil
            }
            (name, self.pixels, self.tokens, self.logits) = (function.name, pixels, tokens, logits)
        }
    }

    /// A function with the tokens of as many texts as it takes, or fewer.
    struct Call {
        fileprivate let function: Function
        fileprivate let inputs: AccelFunction.Inputs
        fileprivate let textCount: Int
    }

    /// Each text has a probability of its own.
    let areIndependent: Bool
    /// Functions of the fewest pictures, of one size, from the fewest texts to the most.
    private let functions: [Function]
    private let model: AccelModel
    private let pixels: PicturePixels
    private let frontEnd: TextFrontEnd
    private let padding: Int64

    init(_ model: AccelModel) throws(AccelError) {
        let path = model.package.path
        self.model = model
        let all = model.functions.compactMap(Function.init)
        guard let fewest = all.min(by: { $0.pixels.shape.dimensions[0] < $1.pixels.shape.dimensions[0] }) else {
            throw AccelError(.unsupported, "no function compares pictures with texts", at: path)
        }
        functions = all.filter { $0.pixels.shape == fewest.pixels.shape }.sorted { $0.texts < $1.texts }
        pixels = try PicturePixels(model)
        frontEnd = try model.text()
        padding = frontEnd.specialToken("pad_token").flatMap(frontEnd.tokenID) ?? 0
        do {
            let type = try model.package.assetFiles.document("config.json")["model_type"]
            // SigLIP is trained with a sigmoid for each pair, CLIP with a softmax over texts.
            areIndependent = type.exists ? try type.string().hasPrefix("siglip") : false
        } catch { throw AccelError(error, at: path) }
    }

    /// Returns the calls that compare a picture with all texts.
    func calls(for texts: [String], truncates: Bool) throws(AccelError) -> [Call] {
        var calls: [Call] = []
        var rest = texts[...]
        while !rest.isEmpty, let function = functions.first(where: { $0.texts >= rest.count }) ?? functions.last {
            let part = rest.prefix(function.texts)
            calls.append(
                Call(
                    function: function, inputs: try inputs(part, truncates, for: function), textCount: part.count))
            rest = rest.dropFirst(part.count)
        }
        return calls
    }

    /// Returns the logit of each text.
    func logits(of picture: Picture, _ calls: [Call]) async throws(AccelError) -> [Float] {
        guard let shape = calls.first?.function.pixels.shape else { return [] }
        let pixels = try pixels.tensor(of: [picture], shape: shape)
        var found: [Float] = []
        for call in calls {
            var inputs = call.inputs
            inputs[call.function.pixels.name] = pixels
            let outputs = try await model.function(call.function.name)(inputs)
            found += try outputs[call.function.logits.name].row(0).prefix(call.textCount)
        }
        return found
    }

    /// Rows without a text hold the first one again.
    /// - Parameter texts: a part of all, by their indices.
    private func inputs(
        _ texts: ArraySlice<String>, _ truncates: Bool, for function: Function
    ) throws(AccelError) -> AccelFunction.Inputs {
        var (tokens, mask): ([Int64], [Int64]) = ([], [])
        for row in 0..<function.texts {
            let index = texts.startIndex + (row < texts.count ? row : 0)
            let text = texts[index]
            let encoding: (encoding: Encoding, lost: Int)
            do {
                encoding = try frontEnd.encoding(of: text, with: nil, limit: function.length)
            } catch { throw AccelError(error, at: "text \(index + 1)") }
            let ids = encoding.encoding.ids.map(Int64.init)
            guard truncates || encoding.lost == 0 else {
                throw AccelError(
                    .invalid, expected: "texts of at most \(function.length) tokens",
                    found: "\(ids.count + encoding.lost)", at: "text \(index + 1)")
            }
            let rest = function.length - ids.count
            tokens += ids + [Int64](repeating: padding, count: rest)
            mask += [Int64](repeating: 1, count: ids.count) + [Int64](repeating: 0, count: rest)
        }
        var inputs = [function.tokens.name: try AccelTensor(tokens, function.texts, function.length)]
        if let port = function.mask { inputs[port.name] = try AccelTensor(mask, function.texts, function.length) }
        return inputs
    }
}
