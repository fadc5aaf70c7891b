// package.json as it is packed.

/** What only a checkout needs: npm reads overrides and allowScripts only of the project that it installs. */
const OWN = ['devDependencies', 'optionalDependencies', 'overrides', 'allowScripts']

/**
 * The manifest of the packed file. What a checkout has as optional dependencies are optional peers in it: who installs
 * the package gets none of them, and none of what they depend on, but may add one.
 *
 * @param manifest - of the checkout
 */
export function packedManifest(manifest) {
  const {optionalDependencies: peerDependencies, scripts} = manifest
  const kept = Object.entries(manifest).filter(([name]) => !OWN.includes(name))
  const names = Object.keys(peerDependencies)
  return {
    ...Object.fromEntries(kept),
    scripts: {install: scripts.install},
    peerDependencies,
    peerDependenciesMeta: Object.fromEntries(names.map(name => [name, {optional: true}])),
  }
}
