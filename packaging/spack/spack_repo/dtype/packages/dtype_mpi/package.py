"""The command `dtype` and the preloaded libraries, for every MPI library.

    spack repo add packaging/spack/spack_repo/dtype
    spack dev-build dtype-mpi@develop              # from the folder of the checkout
    spack load dtype-mpi
    dtype run mpiexec -n 2 ./program
"""

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class DtypeMpi(Package):
    """Faster MPI messages of structs and parts of arrays, for programs in any language, without compiling
    them again; and a command that finds the least-cost MPI datatype of a memory layout."""

    license("MIT OR Apache-2.0")

    version("develop")

    variant("preload", default=True, description="Build the library that programs preload")

    depends_on("rust@1.91:", type="build")
    depends_on("c", type="build")

    def setup_build_environment(self, env):
        env.set("CARGO_HOME", os.path.join(self.stage.path, "cargo"))

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("install", "--locked", "--path", "dtype-cli", "--root", prefix)
        if spec.satisfies("+preload"):
            folder = join_path(prefix.lib, "dtype-mpi")
            mkdirp(folder)
            for name, features in [("openmpi", []), ("mpich", ["mpich"]), ("abi", ["abi"])]:
                options = [f"--features={feature}" for feature in features]
                cargo("build", "--locked", "--profile", "preload", "--package", "dtype-interpose", *options)
                install(
                    "target/preload/libdtype_mpi.so", join_path(folder, f"libdtype_mpi-{name}.so")
                )
