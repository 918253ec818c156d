// swift-tools-version: 6.2
import PackageDescription

/// Executables for tests, which lie beside them.
let helperPrograms = [
    "CacheTool", "StoreTool", "UpdateExample", "EmbeddingExample", "StreamingExample", "LoadTool", "AllocationCounter",
    "ChatTemplateTool", "TextTool", "HubTool",
]

/// Libraries for tests, which lie beside them.
let testLibraries = ["TestSupport", "BackendConformance", "CCalls", "HubTestSupport", "TextGoldens"]

/// The tests' own build (scripts/test_build.sh) optimises what computes, and nothing else: the rest of it compiles as fast as a
/// debug build. Other builds have none of these flags, because no other package could depend on this one with them.
let isTestBuild = Context.environment["ACCELC_TESTS"] != nil
let computingLayers = [
    "AccelByteIO", "AccelTensors", "AccelWeightCompression", "AccelPrograms", "AccelCPURuntime", "AccelVerification",
    "AccelChatTemplates", "AccelText", "AccelAudio", "AccelImages", "TestSupport", "CKernelsTests",
    "WeightCompressionTests", "RuntimeTests",
]
let optimisedC: [CSetting] = isTestBuild ? [.unsafeFlags(["-O1"])] : []

/// One layer of the house: a target that may import only the layers named in `over`.
func layer(
    _ name: String, over: [String], kind: Target.TargetType = .regular, exclude: [String] = []
) -> Target {
    let dependencies = over.map { Target.Dependency(stringLiteral: $0) }
    var swiftSettings: [SwiftSetting] = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
    if isTestBuild, computingLayers.contains(name) {
        swiftSettings.append(.unsafeFlags(["-O", "-wmo", "-num-threads", "2"]))
    }
    var linkerSettings: [LinkerSetting] = [.linkedLibrary("m", .when(platforms: [.linux]))]
    // scripts/release.sh links the same objects once more, without any shared library.
    if name == "accelc", Context.environment["ACCELC_STATIC"] != nil {
        linkerSettings.append(.unsafeFlags(["-static-executable"]))
    }
    switch kind {
    case .executable:
        return .executableTarget(
            name: name, dependencies: dependencies,
            path: helperPrograms.contains(name) ? "Tests/\(name)" : nil, exclude: exclude, swiftSettings: swiftSettings,
            linkerSettings: linkerSettings)
    case .test:
        return .testTarget(
            name: name, dependencies: dependencies, exclude: exclude, swiftSettings: swiftSettings,
            linkerSettings: linkerSettings)
    default:
        return .target(
            name: name, dependencies: dependencies,
            path: testLibraries.contains(name) ? "Tests/\(name)" : nil,
            swiftSettings: swiftSettings, linkerSettings: linkerSettings)
    }
}

let package = Package(
    name: "accelc",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "accelc", targets: ["accelc"]),
        .library(name: "Accel", targets: ["Accel"]),
        .library(
            name: "AccelConversion",
            targets: [
                "AccelConversion", "AccelVerification", "AccelCalibration", "AccelFormats", "AccelPackages",
                "AccelCPURuntime", "AccelModelFamilies",
            ]),
    ],
    targets: [
        layer(
            "accelc",
            over: [
                "Accel", "AccelConversion", "AccelVerification", "AccelCalibration", "AccelFormats", "AccelPackages",
                "AccelCPURuntime", "AccelModelFamilies", "AccelPrograms", "AccelEvaluation", "AccelFrontEnds",
                "AccelHostTools", "AccelHub",
            ],
            kind: .executable),
        layer("AccelEvaluation", over: ["Accel", "AccelFrontEnds", "AccelPrograms", "AccelVerification"]),
        layer("AccelHub", over: ["AccelByteIO"]),
        layer("AccelHostTools", over: ["Accel", "AccelPackages", "AccelHub"]),
        layer(
            "AccelConversion",
            over: [
                "AccelCalibration", "AccelFormats", "AccelFrontEnds", "AccelModelFamilies", "AccelPackages",
                "AccelCPURuntime",
            ]),
        layer("Accel", over: ["AccelPackages", "AccelCPURuntime", "AccelFrontEnds", "CAccelPlugin"]),
        layer(
            "AccelVerification",
            over: [
                "Accel", "AccelCalibration", "AccelCPURuntime", "AccelPackages", "AccelFormats", "AccelModelFamilies",
                "AccelPrograms", "CAccelKernels",
            ]),
        layer("AccelCalibration", over: ["AccelCPURuntime", "AccelFrontEnds", "AccelPrograms", "AccelText"]),
        layer(
            "AccelFormats",
            over: ["AccelPackages", "AccelFrontEnds", "AccelModelFamilies", "AccelPrograms", "AccelWeightCompression"]),
        layer("AccelPackages", over: ["AccelPrograms", "AccelWeightCompression", "CAccelKernelCode"]),
        layer(
            "AccelCPURuntime", over: ["AccelPrograms", "AccelWeightCompression", "CAccelKernels", "CAccelKernelCode"]),
        layer("AccelModelFamilies", over: ["AccelPrograms", "AccelAudio"]),
        layer("AccelPrograms", over: ["AccelTensors", "AccelWeightCompression", "CAccelKernels"]),
        layer("AccelWeightCompression", over: ["AccelTensors", "CAccelKernels"]),
        layer("AccelTensors", over: ["AccelByteIO", "CAccelKernels"]),
        layer(
            "AccelFrontEnds",
            over: ["AccelText", "AccelChatTemplates", "AccelAudio", "AccelImages", "AccelByteIO"]),
        layer("AccelAudio", over: ["AccelByteIO", "AccelPlatform"]),
        layer("AccelImages", over: ["AccelByteIO", "AccelPlatform"]),
        layer("AccelChatTemplates", over: ["AccelByteIO", "AccelPlatform"]),
        layer("AccelText", over: ["AccelByteIO", "CAccelUnicode"]),
        .target(name: "CAccelUnicode", cSettings: optimisedC),
        layer("AccelByteIO", over: ["CAccelZlib", "CAccelKernels", "AccelPlatform"]),
        layer("AccelPlatform", over: ["CAccelPlatform"]),
        .target(name: "CAccelPlatform"),
        .target(name: "CAccelKernels", cSettings: optimisedC),
        // The functions of the kernels. A build compiles a Swift module after the object files of all C modules in its list: the
        // modules below AccelPackages and AccelCPURuntime are compiled beside these, and need them at link time only.
        .target(name: "CAccelKernelCode", dependencies: ["CAccelKernels"], cSettings: optimisedC),
        .target(name: "CAccelPlugin", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .systemLibrary(name: "CAccelZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),

        layer("TestSupport", over: ["AccelPackages", "AccelCPURuntime", "AccelPrograms", "AccelWeightCompression"]),
        .target(name: "CCounting", path: "Tests/AllocationCounter/Counting"),
        layer(
            "AllocationCounter", over: ["AccelCPURuntime", "AccelModelFamilies", "TestSupport", "CCounting"],
            kind: .executable, exclude: ["Counting"]),
        layer("CacheTool", over: ["AccelPackages", "TestSupport"], kind: .executable),
        layer("StoreTool", over: ["Accel", "TestSupport"], kind: .executable),
        layer("UpdateExample", over: ["Accel"], kind: .executable),
        layer("LoadTool", over: ["Accel", "AccelPrograms", "AccelWeightCompression"], kind: .executable),
        layer("EmbeddingExample", over: ["Accel"], kind: .executable),
        layer("StreamingExample", over: ["Accel"], kind: .executable),
        layer("ChatTemplateTool", over: ["AccelChatTemplates"], kind: .executable),
        layer("TextTool", over: ["AccelText", "TextGoldens"], kind: .executable),
        layer("TextGoldens", over: ["AccelText"]),
        layer("AudioTests", over: ["AccelAudio", "AccelFrontEnds", "AccelTensors", "TestSupport"], kind: .test),
        layer("ImageTests", over: ["AccelImages", "AccelFrontEnds", "AccelTensors", "TestSupport"], kind: .test),
        layer("TextTests", over: ["AccelText", "TextGoldens"], kind: .test),
        layer("HubTool", over: ["AccelHub", "AccelHostTools", "HubTestSupport"], kind: .executable),
        layer("HubTestSupport", over: ["AccelHub"]),
        layer("HubTests", over: ["AccelHub", "AccelHostTools", "HubTestSupport"], kind: .test),
        layer("ChatTemplateTests", over: ["AccelChatTemplates"], kind: .test),
        layer("CKernelsTests", over: ["CAccelKernels", "TestSupport"], kind: .test),
        layer("ByteIOTests", over: ["AccelByteIO", "TestSupport"], kind: .test),
        layer("HostToolsTests", over: ["AccelHostTools", "TestSupport"], kind: .test),
        layer("TensorsTests", over: ["AccelTensors", "TestSupport"], kind: .test),
        layer("WeightCompressionTests", over: ["AccelWeightCompression", "TestSupport"], kind: .test),
        layer("ProgramsTests", over: ["AccelPrograms", "TestSupport"], kind: .test),
        layer(
            "ModelFamiliesTests", over: ["Accel", "AccelCPURuntime", "AccelModelFamilies", "TestSupport"], kind: .test),
        layer("CalibrationTests", over: ["AccelCalibration", "AccelModelFamilies", "TestSupport"], kind: .test),
        layer("RuntimeTests", over: ["AccelCPURuntime", "LoadTool", "TestSupport"], kind: .test),
        layer("ExportersTests", over: ["AccelFormats", "TestSupport"], kind: .test),
        layer("PackagesTests", over: ["AccelPackages", "AccelHostTools", "TestSupport"], kind: .test),
        layer("BackendConformance", over: ["Accel"]),
        layer(
            "BackendTests",
            over: [
                "Accel", "AccelConversion", "AccelHostTools", "AccelModelFamilies", "BackendConformance", "TestSupport",
                "StoreTool", "UpdateExample", "EmbeddingExample", "StreamingExample",
            ],
            kind: .test, exclude: ["Plugins"]),
        layer("AccelPackageTests", over: ["Accel", "AccelModelFamilies", "TestSupport"], kind: .test),
        layer(
            "VerificationTests", over: ["AccelVerification", "AccelConversion", "AccelModelFamilies", "TestSupport"],
            kind: .test),
        layer("ConversionTests", over: ["AccelConversion", "TestSupport"], kind: .test),
        layer(
            "CommandTests",
            over: [
                "accelc", "Accel", "AccelFrontEnds", "AccelHub", "AccelPackages", "AccelText", "HubTestSupport",
                "TestSupport",
            ],
            kind: .test, exclude: ["Scripts"]),
    ],
    swiftLanguageModes: [.v6]
)

// The C libraries: their functions are `@c @implementation`, which Swift has from 6.3 on. scripts/libaccel.sh builds what is shipped.
#if compiler(>=6.3)
    package.products += [
        .library(name: "AccelC", type: .dynamic, targets: ["AccelC"]),
        .library(name: "AccelCConvert", type: .dynamic, targets: ["AccelCConvert"]),
    ]
    package.targets += [
        .target(name: "CAccel"),
        layer("AccelC", over: ["Accel", "AccelFrontEnds", "CAccel"]),
        layer("AccelCConvert", over: ["AccelC", "AccelConversion"]),
        layer("CCalls", over: ["AccelC", "AccelModelFamilies", "AccelPackages", "TestSupport"]),
        layer(
            "AccelCTests", over: ["AccelC", "AccelCConvert", "CCalls", "TestSupport"], kind: .test,
            exclude: ["libaccel.abi"]),
    ]
#endif

// Built by scripts/fuzz.sh only: its entry point is the fuzzer's.
if Context.environment["ACCELC_FUZZ"] != nil {
    let fuzz = layer(
        "FuzzTargets",
        over: [
            "AccelCalibration", "AccelCPURuntime", "AccelPackages", "AccelFormats", "AccelModelFamilies", "AccelText",
            "AccelAudio", "AccelImages", "CCalls",
            "TestSupport", "TextGoldens",
        ])
    fuzz.path = "Tests/Fuzz"
    package.targets.append(fuzz)
    package.products.append(.library(name: "FuzzTargets", type: .static, targets: ["FuzzTargets"]))
}

// Built by scripts/bench.sh only.
if Context.environment["ACCELC_SPEED"] != nil {
    let speed = layer("speed", over: ["AccelCPURuntime", "AccelModelFamilies", "AccelPackages"], kind: .executable)
    speed.path = "Tests/Speed"
    package.targets.append(speed)
}
