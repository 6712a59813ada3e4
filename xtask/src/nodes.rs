//! Two nodes on one machine: network namespaces with a name of their own, which reach each other by TCP.
//! Launchers start ranks on them as on hosts of a cluster.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::mpi::Library;

/// The network of the nodes; node 1 has the address `NETWORK.1`.
const NETWORK: &str = "10.87.113";

/// The names of the nodes, which end their addresses, too.
const NODES: [&str; 2] = ["1", "2"];

/// Two nodes, until they are dropped.
pub(crate) struct Nodes<'a> {
    sh: &'a Shell,
    folder: PathBuf,
}

impl<'a> Nodes<'a> {
    /// Makes two nodes.
    ///
    /// # Errors
    /// If this user may not make network namespaces, or there is no program `ip`.
    pub(crate) fn new(sh: &'a Shell) -> Result<Self> {
        let folder = sh.current_dir().join("target/tmp");
        sh.create_dir(&folder)?;
        let nodes = Self { sh, folder };
        nodes.remove();
        for node in NODES {
            cmd!(sh, "ip netns add dtype-{node}")
                .quiet()
                .ignore_stderr()
                .run()
                .context("network namespaces")?;
        }
        cmd!(sh, "ip link add to-2 netns dtype-1 type veth peer name to-1 netns dtype-2").quiet().run()?;
        for (node, other) in [("1", "2"), ("2", "1")] {
            let inside = |command: &str| -> Result<()> {
                let words = command.split(' ');
                Ok(cmd!(sh, "ip -n dtype-{node} {words...}").quiet().run()?)
            };
            inside(&format!("addr add {NETWORK}.{node}/24 dev to-{other}"))?;
            inside(&format!("link set to-{other} up"))?;
            inside("link set lo up")?;
        }
        // In place of ssh: `agent [options] HOST COMMAND…`. Launchers tell hosts apart by their names, too.
        let agent = "#!/bin/sh\n\
             while [ \"${1#-}\" != \"$1\" ]; do shift; done\n\
             node=${1##*.}; shift\n\
             exec ip netns exec \"dtype-$node\" unshare --uts sh -c \"hostname node$node; $*\"\n";
        nodes.script("agent", agent)?;
        Ok(nodes)
    }

    /// Returns the library with a launcher that puts ranks on both nodes in turn.
    pub(crate) fn launcher(&self, library: &Library) -> Result<Library> {
        let agent = self.folder.join("agent");
        let agent = agent.display();
        let hosts = |slots: u32| format!("{NETWORK}.1:{slots},{NETWORK}.2:{slots}");
        // Open MPI's `osc rdma` has no windows over TCP. MPICH 4.0 over TCP alone hangs in `MPI_Finalize` at
        // times, so it may find that the nodes share memory; they are two nodes for it nevertheless.
        let options = if library.name.starts_with("openmpi") {
            let settings = format!("--mca plm_rsh_agent '{agent}' --mca btl tcp,self --mca osc pt2pt,sm");
            format!("{settings} --host {} --map-by node", hosts(64))
        } else {
            format!("-launcher ssh -launcher-exec '{agent}' -hosts {}", hosts(1))
        };
        let mpiexec = &library.mpiexec;
        let path = self.script(
            &format!("mpiexec-{}", library.name),
            &format!(
                "#!/bin/sh\nexec ip netns exec dtype-1 unshare --uts sh -c 'hostname node1; exec \"$@\"' sh \
                 '{mpiexec}' {options} \"$@\"\n"
            ),
        )?;
        Ok(library.with_launcher(&path))
    }

    /// Writes a script, and returns its path.
    fn script(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        self.sh.write_file(&path, text)?;
        cmd!(self.sh, "chmod +x {path}").quiet().run()?;
        ensure!(!path.to_string_lossy().contains('\''), "the path of this folder has a quotation mark");
        Ok(path)
    }

    fn remove(&self) {
        for node in NODES {
            // They are there only if an earlier run was interrupted.
            let _ = cmd!(self.sh, "ip netns del dtype-{node}").quiet().ignore_stderr().run();
        }
    }
}

impl Drop for Nodes<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}
