import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension OpenedModel {
    /// Checks the recipe's rules, the coverage of the tensors, and the fields of the configuration.
    /// - Returns: the warnings.
    /// - Throws: an error for each warning if the request is strict.
    func check(_ plan: [PlannedWeight]) throws -> [Diagnostic] {
        let recipe = request.recipe
        let idle = recipe.idleRules(in: plan).map { rule in
            FormatError(file: request.recipeFile ?? "the recipe", location: .field(rule.field), reason: rule.reason)
        }
        let lacking = plan.filter { $0.lacksImportance && recipe.encoded[$0.source.name] == nil }.map { weight in
            (name: weight.source.name, reason: "ggml makes \(weight.choice.codec.name) with an importance matrix only")
        }
        let others =
            idleMethods(in: plan).map { Diagnostic($0) }
            + PackageCoverage.sentences(lacking, "encoded as if all columns counted the same").map {
                Diagnostic($0, code: .unknownImportance)
            }
        guard request.isStrict else { return idle.map { Diagnostic($0.description) } + others }
        let kept = plan.filter(\.source.shape.hasOutputChannels).compactMap { weight in
            weight.choice.reason.map { (name: weight.source.name, reason: $0) }
        }
        let left = model.unused.filter { !$0.isExpected }.map { (name: $0.name, reason: $0.reason) }
        let rejected =
            others
            + (PackageCoverage.sentences(kept, PackageCoverage.keptAsIs)
            + PackageCoverage.unfilled(plan.map { ($0.source.name, $0.source.shape, $0.choice.codec) }))
            .map { Diagnostic($0) }
            + PackageCoverage.sentences(left, PackageCoverage.notUsed).map { Diagnostic($0, code: .unusedTensors) }
            + model.undefinedFields.map {
                Diagnostic(
                    "config.json, field \($0): the model's class does not define it", code: .undefinedField)
            }
        let rules = idle.map { rule -> any ReportedError in
            var rule = rule
            (rule.exitStatus, rule.code) = (.usage, .strict)
            return rule
        }
        try Mistakes(
            rules
                + rejected.map {
                    RequestError("\(request.model): \($0), which a strict conversion rejects", code: $0.code ?? .strict)
                }
        ).check()
        return []
    }

    /// Sentences on methods that the recipe names, and that no weight uses.
    private func idleMethods(in plan: [PlannedWeight]) -> [String] {
        let recipe = request.recipe
        let rules = recipe.rules.enumerated().map { (rule: Int?.some($0.offset), codec: $0.element.codec) }
        // A target chooses the schemes in place of the default.
        let schemes = (request.target == nil ? [(rule: nil, codec: recipe.defaultCodec)] : []) + rules
        return schemes.compactMap { rule, codec in
            let own = plan.filter { $0.choice.rule == rule }
            guard codec.method != .nearest, !own.contains(where: { $0.choice.codec.method == codec.method }) else {
                return nil
            }
            let matrices = own.filter(\.source.shape.hasOutputChannels)
            // Rules that no weight uses are idle as a whole.
            if rule != nil, matrices.isEmpty { return nil }
            let field = rule.map { "rules[\($0)].compress" } ?? "default"
            let place = request.recipeFile.map { "\($0), field \(field): " } ?? ""
            let method = "method=\(codec.method.rawValue)"
            guard let first = matrices.first else {
                return "\(place)no weight uses \(method): each matrix has a rule of its own"
            }
            let names = first.source.name + (matrices.count > 1 ? " and \(matrices.count - 1) more" : "")
            return
                "\(place)stored without \(method), as neither samples nor an importance matrix tell the inputs: \(names)"
        }
    }
}

extension PlannedWeight {
    /// Whether the codec wants to know the importance of columns, and it is not known.
    fileprivate var lacksImportance: Bool {
        guard let codec = choice.codec as? GGMLCodec else { return false }
        return codec.format.needsImportance && codec.method != .weighted
    }
}

extension Diagnostic.Code {
    /// A warning that a strict conversion rejects.
    package static let strict: Self = "strict"
    /// Weights whose codecs need the importance of columns, without samples or an importance matrix.
    package static let unknownImportance: Self = "unknown-importance"
    /// Tensors that no function of a strict conversion reads.
    package static let unusedTensors: Self = "unused-tensors"
    /// A field of the configuration of a strict conversion that its class does not define.
    package static let undefinedField: Self = "undefined-field"
}
