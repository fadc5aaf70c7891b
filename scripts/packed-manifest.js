// package.json as it is packed: of the whole package, and of the kernels by themselves.

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

/** What the kernels by themselves do without: the program, and what it alone reads. */
const OF_PROGRAM =
  /^!?(bin|docs|fixtures|python|schemas|dist\/(page|program)|scripts\/(setup-)?tensorflow|oclif|CHANGELOG|THIRD)/

/** What the kernels take; a test holds it against what they import. */
const OF_KERNELS = [
  ...['@tensorflow/tfjs-backend-cpu', '@tensorflow/tfjs-backend-wasm', '@tensorflow/tfjs-core'],
  ...['fastest-levenshtein', 'node-addon-api', 'node-gyp-build', 'zod'],
]

/** The manifest of `rfa-attention`: the library without the program. @param manifest - of the checkout */
export function kernelManifest(manifest) {
  const {bin, oclif, types, ...packed} = packedManifest(manifest)
  return {
    ...packed,
    name: 'rfa-attention',
    description: 'Random-feature attention for TensorFlow.js, with C++ kernels for Node.js',
    keywords: manifest.keywords.filter(word => word !== 'benchmark'),
    types,
    files: manifest.files.filter(name => !OF_PROGRAM.test(name)),
    dependencies: Object.fromEntries(OF_KERNELS.map(name => [name, manifest.dependencies[name]])),
  }
}

/** Whether the kernels by themselves have a file of the package; their README is another one. */
export function isOfKernels(path) {
  return path !== 'README.md' && !OF_PROGRAM.test(path)
}

/** README of the kernels: the page on the library, under their name. @param page - docs/library.md */
export function kernelReadme(page) {
  const [, ...sections] = page.split(/^(?=## )/m)
  const body = sections
    .filter(text => !text.startsWith('## The library by itself'))
    .join('')
    .replaceAll(/(?<=from '|import '|import\('|`)rfa(?=['`/])/g, 'rfa-attention')
    .replaceAll(/\[([^\]]+)\]\([^)]+\.md[^)]*\)/g, '$1')
  return `# rfa-attention

The library of rfa without its command-line program: estimators of softmax attention by random features, exact attention, and closed
forms of their errors, on TensorFlow.js with C++ kernels for Node.js. Commands that messages name (\`rfa methods\`, \`rfa doctor\`) come with
the package \`rfa\`.

${body}`
}
