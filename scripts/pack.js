#!/usr/bin/env node
// Packs what is built, from a copy in another folder: the packed package.json differs from the one of the checkout
// (packed-manifest.js), and nothing here is changed. Arguments go to npm pack; the file is written into the working
// folder, unless --pack-destination names another. With --kernels it packs rfa-attention, the library without the program.
//
// As `prepack` it refuses `npm pack` and `npm publish` of the checkout itself: its package.json is not meant for
// others.
import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {runNpmPack, stageKernels, stagePackage} from './packed-files.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const args = process.argv.slice(2)

if (args[0] === '--prepack') refuse()
else {
  const toStage = args.includes('--kernels') ? stageKernels : stagePackage
  pack(
    toStage,
    args.filter(word => word !== '--kernels'),
  )
}

function refuse() {
  if (!['pack', 'publish'].includes(process.env.npm_command)) return
  process.stderr.write(
    `rfa: npm ${process.env.npm_command} of a checkout would make @tensorflow/tfjs-node a dependency of all who install it\n` +
      '     try: npm run pack (or pack:release, with prebuilt kernels): its file can be installed and published\n',
  )
  process.exitCode = 1
}

function pack(toStage, words) {
  const stage = mkdtempSync(join(tmpdir(), 'rfa-pack-'))
  try {
    toStage(root, stage)
    const {status} = runNpmPack(stage, ['--pack-destination', process.cwd(), ...words], 'inherit')
    process.exitCode = status ?? 1
  } finally {
    rmSync(stage, {recursive: true, force: true})
  }
}
