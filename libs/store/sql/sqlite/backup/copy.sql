-- Copies the whole database as it stands at this moment into a file (?1) that is empty or not there yet. Others may read and write meanwhile.
VACUUM INTO ?1
