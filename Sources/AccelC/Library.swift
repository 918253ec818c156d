// swift-format-ignore-file: AlwaysUseLowerCamelCase

import AccelByteIO
import AccelPackages
public import CAccel

/// Texts that live as long as the process.
private let constants = Constants()

private struct Constants: Sendable {
    private let memory = LentMemory()
    private let texts: [accel_status: Address]
    private let (unknown, release): (Address, Address)

    private struct Address: @unchecked Sendable {
        // Nobody writes there.
        let pointer: UnsafePointer<CChar>
    }

    init() {
        let memory = memory
        func address(_ text: String) -> Address { Address(pointer: memory.string(text)) }
        texts = [
            0: "success", 1: "end", 2: "invalid", 3: "not found", 4: "corrupt", 5: "internal error", 6: "cancelled",
            7: "timed out", 8: "untrusted", 9: "unsupported", 10: "not enough memory", 11: "backend failure",
            12: "wrong numbers", 13: "incompatible", 14: "storage", 15: "busy",
        ].mapValues(address)
        (unknown, release) = (address("unknown status"), address(Tool.version))
    }

    func text(of status: accel_status) -> UnsafePointer<CChar> { (texts[status] ?? unknown).pointer }
    var version: UnsafePointer<CChar> { release.pointer }
}

@c @implementation public func accel_abi() -> UInt32 { 1 }

@c @implementation public func accel_version() -> UnsafePointer<CChar>? { constants.version }

@c @implementation public func accel_status_text(_ status: accel_status) -> UnsafePointer<CChar>? {
    constants.text(of: status)
}
