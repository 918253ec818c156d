import AccelByteIO
import AccelConversion
import AccelPackages

enum ConvertCommand: Command {
    static let name = "convert"
    static let summary = "turn a model into an accelerator package"
    static let positionals = [ConversionArguments.model]
    static let shard = Option(
        "shard", .text("I/N|auto"),
        "make share I of N of the weights, keep them in the cache, and write no package; auto: as the array job says; see below",
        excludes: ["output", "zip", "no-cache", "verify-cache", "target-size", "target-bits", "min-sqnr", "profile"])
    static let probe = Option(
        "probe", .flag,
        "store inputs and samples of the outputs in the package, by which apps check a backend when they open it"
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
    static var notes: String {
        "\(recipes)\n\n\(shards)\n\n\(ProfileArguments.notes)\n\n\(ConversionArguments.schemes)"
    }
    private static let recipes = """
        A recipe gives weights schemes of their own; the first rule that fits a weight counts:
          {"default": "palette:bits=4,group=16", "rules": [
            {"match": "embeddings.*", "compress": "int8"},
            {"match": "*.query.weight", "atLeast": 10000, "compress": "int8:axis=channel"}]}
        "accelc inspect RECIPE" lists its rules, and "accelc diff RECIPE RECIPE" what differs.
        """
    private static let shards = """
        With --shard several processes, or machines with one cache server, share the work: each makes its
        share, and the same command without --shard then finds all of them and writes the package, the same
        as one process would. What a process kept before it was killed is not made again. Shares are of
        about equal size in bytes. Weights with method=gptq or weighted are shared where the recipe has
        statistics; with --calibrate they are left for the last command, for their codes depend on the
        weights before them or on a run over the samples. "auto" takes I and N from the variables of an
        array job of Slurm, Kubernetes (N is JOB_COMPLETIONS, which its manifest sets) or AWS Batch.
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
