// swift-tools-version: 6.2
import PackageDescription

/// One layer of the house: a target that may import only the layers named in `over`.
func layer(
    _ name: String, over: [String], kind: Target.TargetType = .regular, exclude: [String] = []
) -> Target {
    let dependencies = over.map { Target.Dependency(stringLiteral: $0) }
    let swiftSettings: [SwiftSetting] = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
    let linkerSettings: [LinkerSetting] = [.linkedLibrary("m", .when(platforms: [.linux]))]
    switch kind {
    case .executable:
        return .executableTarget(
            name: name, dependencies: dependencies, path: name == "CacheTool" ? "Tests/CacheTool" : nil,
            swiftSettings: swiftSettings, linkerSettings: linkerSettings)
    case .test:
        return .testTarget(
            name: name, dependencies: dependencies, exclude: exclude, swiftSettings: swiftSettings,
            linkerSettings: linkerSettings)
    default:
        return .target(
            name: name, dependencies: dependencies, path: name == "TestSupport" ? "Tests/TestSupport" : nil,
            swiftSettings: swiftSettings, linkerSettings: linkerSettings)
    }
}

let package = Package(
    name: "accelc",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "accelc", targets: ["accelc"]),
        .library(name: "AccelPackage", targets: ["AccelPackage"]),
        .library(
            name: "AccelToolchain",
            targets: ["Verification", "Calibration", "Exporters", "Packages", "Runtime", "ModelFamilies"]),
    ],
    targets: [
        layer(
            "accelc",
            over: ["Verification", "Calibration", "Exporters", "Packages", "Runtime", "ModelFamilies", "Programs"],
            kind: .executable),
        layer("AccelPackage", over: ["Packages", "Runtime"]),
        layer("Verification", over: ["Runtime", "Packages", "Exporters", "ModelFamilies", "Programs"]),
        layer("Calibration", over: ["Runtime", "Programs"]),
        layer("Exporters", over: ["Programs", "WeightCompression"]),
        layer("Packages", over: ["Programs", "WeightCompression"]),
        layer("Runtime", over: ["Programs", "WeightCompression", "CKernels"]),
        layer("ModelFamilies", over: ["Programs"]),
        layer("Programs", over: ["Tensors", "WeightCompression", "CKernels"]),
        layer("WeightCompression", over: ["Tensors", "CKernels"]),
        layer("Tensors", over: ["ByteIO", "CKernels"]),
        layer("ByteIO", over: ["CZlib", "CKernels"]),
        .target(name: "CKernels"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),

        layer("TestSupport", over: ["Programs"]),
        layer("CacheTool", over: ["Packages", "TestSupport"], kind: .executable),
        layer("CKernelsTests", over: ["CKernels", "TestSupport"], kind: .test),
        layer("ByteIOTests", over: ["ByteIO", "TestSupport"], kind: .test),
        layer("TensorsTests", over: ["Tensors", "TestSupport"], kind: .test),
        layer("WeightCompressionTests", over: ["WeightCompression", "TestSupport"], kind: .test),
        layer("ProgramsTests", over: ["Programs", "TestSupport"], kind: .test),
        layer("ModelFamiliesTests", over: ["Runtime", "ModelFamilies", "TestSupport"], kind: .test),
        layer("CalibrationTests", over: ["Calibration", "ModelFamilies", "TestSupport"], kind: .test),
        layer("RuntimeTests", over: ["Runtime", "TestSupport"], kind: .test),
        layer("ExportersTests", over: ["Exporters", "TestSupport"], kind: .test),
        layer("PackagesTests", over: ["Packages", "TestSupport"], kind: .test),
        layer("AccelPackageTests", over: ["AccelPackage", "ModelFamilies", "TestSupport"], kind: .test),
        layer("VerificationTests", over: ["Verification", "ModelFamilies", "TestSupport"], kind: .test),
        layer("CommandTests", over: ["accelc", "TestSupport"], kind: .test, exclude: ["Scripts"]),
    ],
    swiftLanguageModes: [.v6]
)

// Built by scripts/fuzz.sh only: its entry point is the fuzzer's.
if Context.environment["ACCELC_FUZZ"] != nil {
    let fuzz = layer(
        "FuzzTargets", over: ["Calibration", "Runtime", "Packages", "Exporters", "ModelFamilies", "TestSupport"])
    fuzz.path = "Tests/Fuzz"
    package.targets.append(fuzz)
    package.products.append(.library(name: "FuzzTargets", type: .static, targets: ["FuzzTargets"]))
}

// Built by scripts/bench.sh only.
if Context.environment["ACCELC_SPEED"] != nil {
    let speed = layer("speed", over: ["ModelFamilies", "Packages"], kind: .executable)
    speed.path = "Tests/Speed"
    package.targets.append(speed)
}
