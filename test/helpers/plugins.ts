/** Plug-ins in a folder of their own, far from this package. */
import {spawnSync} from 'node:child_process'
import {mkdirSync, writeFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {pathToFileURL} from 'node:url'
import {packageRoot} from '../../src/package.js'
import type {PluginRecord} from '../../src/plugins/record.js'

/** The text of a module with a feature map of D rectified entries. @param facts - in place of its own */
export function reluMap(name: string, facts = '', before = ''): string {
  return `import {defineFeatureMap, guardOptions, tf, z} from 'rfa/attention'
${before}
export default defineFeatureMap({
  name: '${name}',
  title: 'rectified entries',
  citation: 'none',
  formula: 'phi(x) = relu(x) + shift',
  advice: 'for tests',
  nonNegative: true,
  inputs: () => 'canonical',
  options: z.object({shift: z.number().default(0).describe('added'), ...guardOptions}),
  featureDim: (_numFeatures, headDim) => headDim,
  phi: ({inputScale, options}) => x => tf.add(tf.relu(tf.mul(x, inputScale)), options.shift),
  ${facts}
})
`
}

/** Writes files, by their paths from a folder. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), {recursive: true})
    writeFileSync(join(folder, path), text)
  }
}

/** What came of loading a plug-in: its record, or how it was refused. */
export interface Loaded {
  record?: {path: string; sha256: string; imports: {path: string; sha256: string}[]}
  code?: string
  message?: string
  suggestions?: string[]
}

/** A plug-in with what it is to be. */
type Wanted = readonly [path: string, wanted: PluginRecord]

/**
 * Loads plug-ins one after the other in one process, as the program does.
 *
 * @param node - the executable. Default: the one that runs the tests
 */
export function loadAll(
  folder: string,
  paths: readonly (string | Wanted)[],
  node = process.execPath,
) {
  const loader = pathToFileURL(join(packageRoot(), 'dist', 'src', 'plugins', 'load.js')).href
  const script = `
    import {loadPlugin} from '${loader}'
    const results = []
    for (const path of ${JSON.stringify(paths)}) {
      try {
        results.push({record: (await loadPlugin(...[path].flat())).record})
      } catch ({code, message, suggestions}) {
        results.push({code, message, suggestions})
      }
    }
    process.stdout.write(JSON.stringify(results))
  `
  const {stdout, stderr} = spawnSync(node, ['--input-type=module', '--eval', script], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as Loaded[]
}
