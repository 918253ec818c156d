import AccelByteIO
import AccelFormats
public import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension Conversion {
    /// Returns the cache key of the package that this conversion makes. Reads the model's configuration, and hashes its weights
    /// unless the cache remembers the digests of these files.
    /// - Throws: as `convert`.
    public func cacheKey(in cache: Cache, threads: Int) throws -> CacheKey {
        let source = try source()
        let model = try choosingLogits(of: model(of: source))
        let digests = try source.digests(cache: cache, threads: threads)
        let (request, functions) = (try settled(for: model, of: source), try freezing(model))
        if isStrict {
            var resolved = request
            resolved.recipe = try request.resolvedRecipe(for: functions, of: model.family)
            _ = try resolved.check(model, resolved.recipe.plan(for: functions))
        }
        return try request.key(digests, of: model, functions)
    }

    func key(_ digests: ModelDigests, of model: SourceModel, _ functions: [FrozenProgram]) throws -> CacheKey {
        var options: [(name: String, value: String)] = []
        let samples = onlyMeasuresSamples ? nil : samples
        if let samples { options.append(("calibrate", samples.digest.description)) }
        if let importance { options.append(("importance", importance.digest.description)) }
        if logits != .all { options.append(("logits", logits.rawValue)) }
        if let target { options.append(("target", target.text)) }
        for (name, values) in [("ignore-config", ignoredFields), ("ignore-tensor", ignoredTensors)]
        where !values.isEmpty {
            options.append((name, values.joined(separator: "\n")))
        }
        if let interfaceFile { options.append(("interface", try JSON.read(interfaceFile).text())) }
        if let importer = model.importer { options.append(("importer", importer)) }
        if let origin = Checkpoint.origin(of: self.model) { options.append(("origin", origin)) }
        if hasProbe { options.append(("probe", "\(PackageProbe.version)")) }
        if states != .float32 { options.append(("states", states.rawValue)) }
        return CacheKey(
            sources: digests.sources, parts: parts, shapes: functions.map(\.functionName), recipe: recipe.json,
            options: options,
            versions: ResultVersions(
                family: model.versionedName,
                // A target may choose any codec.
                codecs: target == nil ? recipe.numericsVersions : Codecs.numericsVersions,
                calibration: samples != nil || recipe.statistics != nil ? Tool.calibrationVersion : nil))
    }
}
