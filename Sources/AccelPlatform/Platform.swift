// The system's C library with its mathematics, and the shims of `CAccelPlatform`, under one name for every platform.
@_exported import CAccelPlatform

#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Android)
    @_exported import Android
#elseif canImport(Musl)
    @_exported import Musl
#else
    @_exported import Glibc
#endif
