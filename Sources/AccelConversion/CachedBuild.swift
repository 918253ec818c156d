import AccelByteIO
import AccelPackages

/// A kind of result that the cache keeps as one entry: a package, an export, or the activation statistics of a weight.
protocol CachedResult {
    /// The finished result before it is published.
    associatedtype Draft
    associatedtype Product
    /// Finds the result of a key and writes it to its destination; nil if the cache has none.
    func find(_ key: CacheKey, in cache: Cache) throws -> Product?
    func store(_ draft: Draft, as key: CacheKey, in cache: Cache) throws
    /// The digest that a product is compared by; nil if results of this kind are not compared.
    func digest(of product: Product) -> Digest?
    func digest(under key: CacheKey, in cache: Cache) -> Digest?
}

extension CachedResult {
    func digest(of product: Product) -> Digest? { nil }
    func digest(under key: CacheKey, in cache: Cache) -> Digest? { nil }
}

/// Looks up a result in the cache and makes it on a miss. All claiming, comparing and storing happens here.
struct CachedBuild<Kind: CachedResult> {
    let kind: Kind
    let cache: Cache?
    /// nil disables both the lookup and the store.
    let key: CacheKey?
    /// Makes the result even on a cache hit.
    var isAnew = false
    /// Records whether the result equals the cached one; nil compares nothing.
    var comparison: CacheComparison?

    init(_ kind: Kind, as key: CacheKey?, in cache: Cache?) {
        (self.kind, self.key, self.cache) = (kind, key, cache)
    }

    func find() throws -> Kind.Product? {
        guard let cache, let key else { return nil }
        return try kind.find(key, in: cache)
    }

    func store(_ draft: Kind.Draft) throws {
        guard let cache, let key else { return }
        try kind.store(draft, as: key, in: cache)
    }

    /// Returns the cached result, waiting for another process that is making it. On a miss makes, stores and publishes it
    /// under a claim, so that other processes wait for this one. The store comes before the publication, because another
    /// process may replace the files at a public path at any time.
    func run(
        make: () throws -> Kind.Draft, publish: (Kind.Draft) throws -> Kind.Product
    ) throws -> (product: Kind.Product, cache: CacheOutcome) {
        var claim: CacheClaim?
        defer { claim?.release() }
        if !isAnew, let cache, let key {
            let (found, claimed) = try cache.take(key) { try kind.find(key, in: cache) }
            if let found { return (found, cache.isFromServer(key) ? .serverHit : .hit) }
            claim = claimed
        }
        let draft = try make()
        var earlier: Digest?
        if comparison != nil, let cache, let key { earlier = kind.digest(under: key, in: cache) }
        try store(draft)
        let product = try publish(draft)
        if let comparison, let made = kind.digest(of: product) {
            if let earlier {
                comparison.note("the package", isSame: earlier == made)
            } else {
                comparison.noteMissing()
            }
        }
        claim?.release()
        cache?.finish()
        return (product, cache == nil ? .off : .miss)
    }
}
