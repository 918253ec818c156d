import AccelByteIO
import AccelConversion
import AccelPackages

enum ConvertCommand: Command {
    static let name = "convert"
    static let summary = "convert a model to a package for accelerators"
    static let positionals = [ConversionArguments.model]
    static let shard = Option(
        "shard", .text("I/N|auto"), in: .cache,
        "compress share I of N of the weights into the cache. auto: that of an array job. No package is made; the end of this page "
            + "explains shards",
        excludes: ["output", "zip", "no-cache", "verify-cache", "target-size", "target-bits", "min-sqnr", "profile"])
    static let probe = Option(
        "probe", .flag, in: .output,
        "store example inputs and outputs in the package. Apps check a backend with them when they open the package"
    ).setting(.probe) { request, _, _ in request.hasProbe = true }
    static let options =
        [OutputArguments.output, OutputArguments.zip, probe.option] + ConversionArguments.options + CacheChoice.options
        + [
            CacheChoice.verify, ProfileArguments.profile, shard, CommonOptions.json,
        ]
    static let examples = [
        "accelc convert all-MiniLM-L6-v2",
        "accelc convert all-MiniLM-L6-v2 --shape batch=1,sequence=128 --compress int4:block=32",
        "accelc convert Qwen3-0.6B --target-size 400MB --calibrate samples.safetensors -o q.accelpkg",
    ]
    static let subjects = ["recipes", "shards", "profiles", "all schemes"]
    static var details: String {
        "\(recipes)\n\n\(shards)\n\n\(ProfileArguments.notes)\n\n\(ConversionArguments.schemes)"
    }
    private static let recipes = """
        Recipes: a recipe gives weights schemes of their own. The first rule that matches a weight applies.
          {"default": "palette:bits=4,group=16", "rules": [
            {"match": "embeddings.*", "compress": "int8"},
            {"match": "*.query.weight", "atLeast": 10000, "compress": "int8:axis=channel"}]}
        "accelc inspect RECIPE" lists the rules; "accelc diff RECIPE RECIPE" lists the differences.
        """
    private static let shards = """
        Shards: several processes, or machines with one cache server, share the compression of a model. Each
        compresses its share with --shard. The same command without --shard then finds all shares in the
        cache, and writes the same package as one process would. After a process is killed, its finished
        weights are reused. The shares have about equal sizes in bytes. Weights with method=gptq or weighted
        are shared if the recipe has statistics. With --calibrate the last command compresses them, because
        their codes depend on earlier weights or on a run over the samples. "auto" takes I and N from the
        variables of an array job of Slurm, Kubernetes (its manifest sets JOB_COMPLETIONS to N) or AWS Batch.
        """

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let start = ContinuousClock.now
        var conversion = try ConversionArguments.conversion(arguments, rows: ConversionArguments.all + [probe])
        conversion.profile = ProfileArguments.profile(arguments)
        if let text = arguments[shard] {
            return try run(
                WeightShard(parsing: text, environment: ProcessEnvironment.all), of: conversion, since: start,
                arguments, console)
        }
        let output = try arguments.required(OutputArguments.output)
        let signatures = SignaturesBeside(output)
        var settings = try ConversionSettings(arguments, console)
        settings.comparesWithCache = arguments.has(CacheChoice.verify)
        let made = try conversion.convert(
            to: try OutputArguments.destination(arguments), settings, emit: ConversionConsole(console).show)

        let summary = try ConversionSummary(of: made, at: output, seconds: start.secondsToNow)
        let warnings = summary.warnings + signatures.warnings(after: made.package.digest)
        console.result(summary.json(warnings: console.warnings.withLock { $0 } + warnings), summary.text)
        warnings.forEach(console.warning)
        summary.notes.forEach { console.note("remark: \($0)") }
        summary.remarks.forEach(console.detail)
        if made.cache == .miss {
            let received = made.weights.received == 0 ? "" : " (\(made.weights.received) from the server)"
            console.detail("weights: \(made.weights.found) found in the cache\(received), \(made.weights.made) made")
        }
        summary.missingTokenizer.map(console.note)
        return made.comparison.map { CacheChoice.report($0, console) } ?? .success
    }

    private static func run(
        _ shard: WeightShard, of conversion: Conversion, since start: ContinuousClock.Instant, _ arguments: Arguments,
        _ console: Console
    ) throws -> ExitStatus {
        let made = try conversion.convert(
            shard, ConversionSettings(arguments, console), emit: ConversionConsole(console).show)
        let summary = ShardSummary(made, seconds: start.secondsToNow)
        console.result(summary.json, summary.text)
        return .success
    }
}
