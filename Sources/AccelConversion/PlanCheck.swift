import AccelByteIO
import AccelModelFamilies
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension OpenedModel {
    /// Checks the recipe's rules, the coverage of the tensors, and the fields of the configuration.
    /// - Returns: the warnings.
    /// - Throws: an error for each warning if the request is strict.
    func check(_ plan: [PlannedWeight]) throws -> [String] {
        let recipe = request.recipe
        let idle = recipe.idleRules(in: plan).map { rule in
            FormatError(file: request.recipeFile ?? "the recipe", location: .field(rule.field), reason: rule.reason)
        }
        let unweighted = PackageCoverage.sentences(
            plan.filter { $0.lacksImportance && recipe.encoded[$0.source.name] == nil }.map { weight in
                let name = weight.choice.codec.name
                let remedy =
                    recipe.asked(by: weight.choice.rule).method == .weighted
                    ? "it tells nothing of this one, to which a rule may give another type, such as q4_k"
                    : "use \(name):method=weighted with --importance FILE or --calibrate FILE"
                return (
                    name: weight.source.name, reason: "ggml makes \(name) with an importance matrix only; \(remedy)"
                )
            }, "encoded as if all columns counted the same")
        let others = idleMethods(in: plan) + unweighted
        guard request.isStrict else { return idle.map(\.description) + others }
        let kept = plan.filter(\.source.shape.hasOutputChannels).compactMap { weight in
            weight.choice.reason.map { (name: weight.source.name, reason: $0) }
        }
        let reasons =
            PackageCoverage.sentences(kept, PackageCoverage.keptAsIs)
            + PackageCoverage.unfilled(plan.map { ($0.source.name, $0.source.shape, $0.choice.codec) })
        let left = PackageCoverage.sentences(
            model.unused.filter { !$0.isExpected }.map { (name: $0.name, reason: $0.reason) }, PackageCoverage.notUsed)
        var errors: [any ReportedError] = idle.map { error in
            var error = error
            error.reason += " (--strict)"
            error.exitStatus = .usage
            return error
        }
        errors += others.map { RequestError("\($0) (--strict)") }
        errors += reasons.map { RequestError("\(request.model): \($0); --strict refuses that") }
        errors += left.map {
            RequestError(
                "\(request.model): \($0); --strict refuses that, unless --ignore-tensor names what is not used")
        }
        errors += model.undefinedFields.map {
            RequestError(
                "\(request.model), config.json, field \($0): the model's class does not define it; --strict refuses that, unless "
                    + "--ignore-config names it")
        }
        try Mistakes(errors).check()
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
        guard let codec = choice.codec as? any GGMLCodec else { return false }
        return type(of: codec).needsImportance && codec.method != .weighted
    }
}
