// Why pip failed, by what it wrote last: warnings of connections that were tried again say nothing.

const CONNECTION =
  /Failed to establish|Max retries exceeded|timed? ?out|Name or service|name resolution|ProxyError/i

/**
 * Whether pip failed because it did not reach its package index. pip says that an unreached index has no version of
 * anything; the last warning, of the last try, says why.
 *
 * @param text - pip's stderr
 */
export function saysNoNetwork(text) {
  const lines = text.split('\n')
  const errors = lines.filter(line => line.startsWith('ERROR:')).join('\n')
  if (CONNECTION.test(errors)) return true
  const lastTry = lines.some(line => /Retry\(total=0,/.test(line) && CONNECTION.test(line))
  return lastTry && /\(from versions: none\)/.test(errors)
}
