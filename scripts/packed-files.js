// The files of a package as others install it, in a folder: those that npm packs, with the packed package.json.
import {spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {copyFileSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {filesInUse} from './aside.js'
import {npm} from './node-gyp.js'
import {isOfKernels, kernelManifest, kernelReadme, packedManifest} from './packed-manifest.js'

/**
 * Copies the files of the package.
 *
 * @param root - of the checkout, which is built
 * @param stage - an empty folder
 * @returns their paths below it
 */
export function stagePackage(root, stage) {
  return stageFiles(root, stage, packedFiles(root), packedManifest)
}

/** Copies those of the kernels by themselves. @returns as {@link stagePackage} */
export function stageKernels(root, stage) {
  const page = readFileSync(join(root, 'docs', 'library.md'), 'utf8')
  writeFileSync(join(stage, 'README.md'), kernelReadme(page))
  return stageFiles(root, stage, packedFiles(root).filter(isOfKernels), kernelManifest)
}

/** The files that npm packs, of the program those in use. */
function packedFiles(root) {
  const report = JSON.parse(runNpmPack(root, ['--json', '--dry-run'], 'pipe').stdout)
  const [{files}] = Object.values(report) // a list, and by name since npm 12
  // a build leaves the files of the one before to programs that run
  const program = 'dist/program/'
  const inUse = new Set(filesInUse(join(root, 'dist', 'program.json')))
  return files
    .map(({path}) => path)
    .filter(path => !path.startsWith(program) || inUse.has(path.slice(program.length)))
}

function stageFiles(root, stage, paths, manifestOf) {
  for (const path of paths) {
    mkdirSync(dirname(join(stage, path)), {recursive: true})
    copyFileSync(join(root, path), join(stage, path))
  }
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifestOf(manifest), null, 2)}\n`)
  return [...paths, ...writeChecksums(stage, paths)]
}

/** Runs `npm pack` without scripts. @param stdout - of the process, as `stdio` has it */
export function runNpmPack(cwd, args, stdout) {
  return spawnSync(process.execPath, [npm(), 'pack', '--ignore-scripts', ...args], {
    cwd,
    stdio: ['ignore', stdout, 'inherit'],
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
}

/** In the format of `sha256sum`, run in prebuilds/: what loads an addon compares it (src/backends/native/prebuilt.ts). */
function writeChecksums(stage, paths) {
  const addons = paths.filter(path => path.endsWith('.node')).sort()
  const lines = addons.map(path => {
    const sum = createHash('sha256')
      .update(readFileSync(join(stage, path)))
      .digest('hex')
    return `${sum}  ${path.slice('prebuilds/'.length)}\n`
  })
  if (lines.length === 0) return []
  writeFileSync(join(stage, 'prebuilds', 'SHA256SUMS'), lines.join(''))
  return ['prebuilds/SHA256SUMS']
}
