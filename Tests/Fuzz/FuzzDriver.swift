import AccelByteIO
import Foundation

/// The target that the environment variable FUZZ_TARGET names.
private let target = FuzzTarget.all.first { $0.name == ProcessInfo.processInfo.environment["FUZZ_TARGET"] }

/// libFuzzer calls this once. Without a target it lists all of them; with FUZZ_SEEDS it writes the target's seeds into
/// that folder first.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    guard let target else {
        for target in FuzzTarget.all { print(target.name) }
        exit(0)
    }
    if let folder = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] {
        for (index, seed) in target.seeds().enumerated() {
            _ = FileManager.default.createFile(atPath: "\(folder)/seed-\(index)", contents: Data(seed))
        }
    }
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafeRawPointer, _ count: Int) -> Int32 {
    let bytes = [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    try? target?.run(ByteView(bytes))
    return 0
}

/// Runs `body`. The leak sanitizer, if there is one, takes no object that it allocates for a leak.
func withoutLeakDetection<Result>(_ body: () -> Result) -> Result {
    func call(_ name: String) {
        guard let function = dlsym(dlopen(nil, RTLD_NOW), name) else { return }
        unsafeBitCast(function, to: (@convention(c) () -> Void).self)()
    }
    call("__lsan_disable")
    defer { call("__lsan_enable") }
    return body()
}
