import AccelByteIO
import AccelModelFamilies
public import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension Conversion {
    /// Names the package that this conversion makes, in the cache. Reads the model's configuration, and its weights unless
    /// the cache remembers what they hold.
    public func cacheKey(in cache: Cache, threads: Int) throws -> CacheKey {
        let checkpoint = try checkpoint()
        let family = try Families.matching(checkpoint.configuration)
        let model = try model(of: checkpoint, by: family)
        let digests = try ModelDigests(checkpoint, cache: cache, threads: threads)
        return key(digests, by: family, try freezing(model.programs))
    }

    func key(_ digests: ModelDigests, by family: any ModelFamily, _ functions: [FrozenProgram]) -> CacheKey {
        var options: [(name: String, value: String)] = []
        if let samples { options.append(("calibrate", samples.digest.description)) }
        if let target { options.append(("target", target.text)) }
        for (name, values) in [("ignore-config", ignoredFields), ("ignore-tensor", ignoredTensors)]
        where !values.isEmpty {
            options.append((name, values.joined(separator: "\n")))
        }
        return CacheKey(
            sources: digests.sources, parts: parts, shapes: functions.map(\.functionName), recipe: recipe.json,
            options: options,
            versions: ResultVersions(
                family: type(of: family).versionedName,
                // A target may choose any.
                codecs: target == nil ? recipe.numericsVersions : Codecs.numericsVersions,
                calibration: samples != nil || recipe.statistics != nil ? Tool.calibrationVersion : nil))
    }
}
